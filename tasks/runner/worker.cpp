#include "tasks/runner/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/graph/plugin.h"
#include "bough/ops/matmul.h"
#include "tasks/registry.h"
#include "tasks/runner/interrupt.h"
#include "tasks/runner/train_run.h"

namespace bough::runner {
namespace {

struct Channel {
  int read_end = -1, write_end = -1;
};

/// Sockets and not a pipe: writing to a worker that has died must be an error here, not a signal that ends everything.
Channel make_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw IoError("worker", fmt::format("no connection to it: {}", std::strerror(errno)));
  }
  return {ends[0], ends[1]};
}

/// What posix_spawn is told; released by the destructor.
struct SpawnOptions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnOptions() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnOptions() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
};

void write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::send(file, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the process has ended; that shows when its output is read
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& program, const WorkerRequest& request) {
  const Channel input = make_channel(), output = make_channel();
  SpawnOptions spawn;
  ::posix_spawn_file_actions_adddup2(&spawn.actions, input.read_end, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&spawn.actions, output.write_end, STDOUT_FILENO);
  ::posix_spawnattr_setpgroup(&spawn.attributes, 0);
  ::posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  std::string name = program, argument = "run-worker";
  char* arguments[] = {name.data(), argument.data(), nullptr};
  const int error = ::posix_spawn(&process_, program.c_str(), &spawn.actions, &spawn.attributes, arguments, environ);
  ::close(input.read_end);
  ::close(output.write_end);
  if (error != 0) {
    ::close(input.write_end);
    ::close(output.read_end);
    throw IoError("worker", fmt::format("'{}' cannot be started: {}{}", program, std::strerror(error),
                                        program.find('/') == std::string::npos
                                            ? "; give a path with its folder, PATH is not searched"
                                            : ""));
  }
  output_ = output.read_end;
  write_all(input.write_end, to_json(request).dump());
  ::close(input.write_end);
}

WorkerProcess::~WorkerProcess() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
}

std::vector<WorkerMessage> WorkerProcess::read_messages() {
  char chunk[4096];
  const ssize_t got = ::read(output_, chunk, sizeof(chunk));
  if (got < 0 && errno == EINTR) return {};
  if (got <= 0) {
    finished_ = true;
    return {};
  }
  buffer_.append(chunk, static_cast<std::size_t>(got));
  std::vector<WorkerMessage> messages;
  std::size_t begin = 0;
  for (std::size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n', begin)) {
    if (auto message = message_in(buffer_.substr(begin, end - begin))) messages.push_back(*std::move(message));
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  return messages;
}

void WorkerProcess::interrupt() {
  if (!told_to_end_) ::kill(process_, SIGTERM);
  told_to_end_ = true;
}

std::string WorkerProcess::wait_for_end() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (!WIFSIGNALED(status)) return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
  return fmt::format("its process was ended by signal {} ({}){}", WTERMSIG(status), strsignal(WTERMSIG(status)),
                     WTERMSIG(status) == SIGKILL ? "; did the machine run out of memory?" : "");
}

int serve_worker() {
  const InterruptGuard guard;
  const WorkerRequest request = worker_request_from({std::istreambuf_iterator<char>(std::cin), {}});
  set_num_threads(request.threads);
  set_tf32_products(request.tf32);
  for (const std::string& library : request.plugins) load_plugin(library);
  const PlannedRun run{.name = request.name,
                       .config = request.config,
                       .settings = request.settings,
                       .checked = settings_of(request.config, request.data_folders, request.device)};
  const auto send = [](const WorkerMessage& message) {
    const std::string line = to_line(message);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  };
  const RunResult result = train_run({.task = &tasks::task_named(request.config.at("task").at("kind")),
                                      .run = &run,
                                      .folder = request.folder,
                                      .resume = request.resume,
                                      .tensorboard = request.tensorboard,
                                      .own_process = ::getppid(),  // the sweep, with all its workers
                                      .inputs = request.inputs,
                                      .should_stop = interrupted,
                                      .on_progress = send});
  send(result);
  return result.status == RunStatus::failed ? 1 : 0;
}

}  // namespace bough::runner
