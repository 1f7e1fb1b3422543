#include "tests/cli/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

extern char** environ;

namespace bough::test {
namespace {

/// A file without a name; programs write into it, so no pipe can fill up while it is not read.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), &std::fclose) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file for the output of bough");
  }
  int descriptor() const { return fileno(file_.get()); }
  std::string text() const {
    std::string result;
    std::rewind(file_.get());
    for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) result.push_back(static_cast<char>(c));
    return result;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

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

ProgramResult run_bough(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  std::vector<std::string> command = {BOUGH_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(options);

  const Capture output, errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, options.input_file.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  if (!options.output_file.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output_file.c_str(), O_WRONLY, 0);
  }
  if (!options.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.working_folder.c_str());
  }
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, BOUGH_PROGRAM, &actions, nullptr, pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("bough could not be started from " BOUGH_PROGRAM);

  int status = 0;
  waitpid(process, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), output.text(), errors.text()};
}

}  // namespace bough::test
