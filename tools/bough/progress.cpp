#include "tools/bough/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace bough::cli {
namespace {

constexpr int bar_width = 20;
constexpr std::chrono::milliseconds redraw_after{100};

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressLines::ProgressLines() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressLines::erase_bars() {
  // Up to the first bar, then clear to the end of the screen.
  if (drawn_ > 0) fmt::print(stderr, "\x1b[{}F\x1b[J", drawn_);
  drawn_ = 0;
}

void ProgressLines::draw_bars() {
  const std::size_t width = terminal_width();
  for (const Bar& bar : bars_) {
    const int filled = static_cast<int>(bar_width * bar.done / bar.total);
    std::string line = fmt::format("[{:#<{}}{:.<{}}] {}  {}/{}  {}", "", filled, "", bar_width - filled, bar.name,
                                   bar.done, bar.total, bar.words);
    if (line.size() >= width) line.resize(width - 1);  // a wrapped line would count as two
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
  drawn_ = bars_.size();
  last_drawn_ = std::chrono::steady_clock::now();
}

void ProgressLines::show(const std::string& name, std::int64_t done, std::int64_t total, const std::string& words) {
  if (!on_terminal_) {
    const std::int64_t tenth = 10 * done / total;
    const auto known = last_tenths_.find(name);
    if (known != last_tenths_.end() && known->second >= tenth) return;
    last_tenths_[name] = tenth;
    fmt::print(stderr, "{}  {}/{}  {}\n", name, done, total, words);
    return;
  }
  const auto known = std::ranges::find(bars_, name, &Bar::name);
  Bar& bar = known == bars_.end() ? bars_.emplace_back() : *known;
  bar = {name, done, total, words};
  if (std::chrono::steady_clock::now() - last_drawn_ < redraw_after) return;
  erase_bars();
  draw_bars();
}

void ProgressLines::finish(const std::string& name, const std::string& words) {
  last_tenths_.erase(name);
  if (on_terminal_) {
    erase_bars();
    std::erase_if(bars_, [&](const Bar& bar) { return bar.name == name; });
  }
  fmt::print(stderr, "{}  {}\n", name, words);
  if (on_terminal_) draw_bars();
}

}  // namespace bough::cli
