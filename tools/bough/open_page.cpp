#include "tools/bough/open_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>

namespace bough::cli {

void open_page(const std::string& page) {
  const bool has_display = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_display || ::isatty(STDOUT_FILENO) == 0) return;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  std::string program = "xdg-open", argument = page;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  // Without such a program the page stays closed; its name has been printed.
  ::posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
}

}  // namespace bough::cli
