#include "tools/bough/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace bough::cli {
namespace {

constexpr int bar_width = 30;
constexpr std::chrono::milliseconds redraw_after{100};

}  // namespace

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (on_terminal_ && drawn_) std::fputc('\n', stderr);
}

bool ProgressLine::is_due(std::int64_t done, std::int64_t total) const {
  if (done == total) return true;
  if (on_terminal_) return std::chrono::steady_clock::now() - last_drawn_ >= redraw_after;
  return 10 * done / total > last_tenth_;
}

void ProgressLine::show(std::int64_t done, std::int64_t total, std::string_view words) {
  if (!is_due(done, total)) return;
  if (on_terminal_) {
    const int filled = static_cast<int>(bar_width * done / total);
    // \x1b[K clears what a longer line before may have left.
    fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {}/{}  {}\x1b[K", "", filled, "", bar_width - filled, done, total, words);
    std::fflush(stderr);
  } else {
    fmt::print(stderr, "{}/{}  {}\n", done, total, words);
  }
  drawn_ = true;
  last_tenth_ = 10 * done / total;
  last_drawn_ = std::chrono::steady_clock::now();
}

}  // namespace bough::cli
