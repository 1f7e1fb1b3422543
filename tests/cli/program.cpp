#include "tests/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace bough::test {

/// A file without a name; programs write into it, so no pipe can fill up while it is not read.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), &std::fclose) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file for the output of bough");
  }
  int descriptor() const { return fileno(file_.get()); }
  /// Read without moving the place at which the program writes, which is the same for both.
  std::string text() const {
    std::string result;
    char buffer[4096];
    while (const ssize_t got = ::pread(descriptor(), buffer, sizeof(buffer), static_cast<off_t>(result.size()))) {
      if (got < 0) break;
      result.append(buffer, static_cast<std::size_t>(got));
    }
    return result;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const ProgramOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("BOUGH_THREADS=")) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + "=" + value);
  return result;
}

}  // namespace

RunningProgram::RunningProgram(const std::vector<std::string>& arguments, const ProgramOptions& options)
    : output_(std::make_unique<Capture>()), errors_(std::make_unique<Capture>()) {
  std::vector<std::string> command = {BOUGH_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(options);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, options.input_file.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output_->descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_->descriptor(), STDERR_FILENO);
  if (!options.output_file.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output_file.c_str(), O_WRONLY, 0);
  }
  if (!options.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.working_folder.c_str());
  }
  const int failed =
      posix_spawn(&process_, BOUGH_PROGRAM, &actions, nullptr, pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("bough could not be started from " BOUGH_PROGRAM);
}

RunningProgram::~RunningProgram() {
  if (has_ended()) return;
  ::kill(process_, SIGKILL);
  result();
}

std::string RunningProgram::output() const { return output_->text(); }

bool RunningProgram::has_ended() {
  if (!ended_) ended_ = ::waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

void RunningProgram::interrupt() { ::kill(process_, SIGINT); }

ProgramResult RunningProgram::result() {
  if (!ended_) ended_ = ::waitpid(process_, &status_, 0) == process_;
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), output_->text(), errors_->text()};
}

ProgramResult run_bough(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  return RunningProgram(arguments, options).result();
}

}  // namespace bough::test
