#include "tools/bough/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "tools/bough/words.h"

namespace bough::cli {
namespace {

constexpr std::chrono::milliseconds redraw_after{100};
constexpr std::chrono::seconds print_after{10};

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// How much of a line is shown.
struct Detail {
  int bar_width;
  std::size_t name_width;  ///< at most
  bool short_figures;
  int figures;  ///< so many of: time left, validation metric, steps, speed, memory, loss
};

/// From all to the least.
constexpr Detail details[] = {{20, 120, false, 6}, {10, 120, false, 6}, {0, 120, false, 6}, {0, 32, false, 6},
                              {0, 32, true, 6},    {0, 24, true, 6},    {0, 18, true, 6},   {0, 24, true, 5},
                              {0, 18, true, 5},    {0, 14, true, 5},    {0, 12, true, 5},   {0, 14, true, 4},
                              {0, 14, true, 3},    {0, 14, true, 2},    {0, 12, true, 1}};

/// Begin and end of a name that is too long: the pattern stands first, the seed last.
std::string shortened(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  const std::size_t end = (width - 2) / 2;
  return name.substr(0, width - 2 - end) + ".." + name.substr(name.size() - end);
}

/// How many characters all names begin with.
std::size_t common_beginning(const std::vector<std::string>& names) {
  std::size_t common = names.front().size();
  for (const std::string& name : names) {
    const auto different = std::ranges::mismatch(name, names.front()).in1;
    common = std::min(common, static_cast<std::size_t>(different - name.begin()));
  }
  return common;
}

/// Names of runs that are shown together: where the ends are the same, what differs is in the middle and is kept.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(shortened(name, width));
  if (std::set(result.begin(), result.end()).size() == std::set(names.begin(), names.end()).size()) return result;
  const std::size_t begin = common_beginning(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string rest = names[i].substr(begin);
    result[i] = (begin > 0 ? ".." : "") + rest.substr(0, width - std::min<std::size_t>(width, 2));
  }
  return result;
}

std::string bar(const RunProgress& now, int width) {
  if (width == 0) return "";
  const int filled = static_cast<int>(width * now.step / std::max<std::int64_t>(1, now.steps));
  return fmt::format("[{:#<{}}{:.<{}}] ", "", filled, "", width - filled);
}

/// Everything after the name.
std::string figures(const RunProgress& now, const std::string& metric, const Detail& detail) {
  const bool brief = detail.short_figures;
  const int decimals = brief ? 3 : 4, count = detail.figures;
  std::string text = fmt::format("  {} left", seconds_in_words(now.seconds_left));
  if (count > 2) {
    text += brief ? fmt::format("  {}%", 100 * now.step / std::max<std::int64_t>(1, now.steps))
                  : fmt::format("  {}/{}", now.step, now.steps);
  }
  if (count > 5) text += fmt::format("  loss {:.{}f}", now.loss, decimals);
  if (count > 1 && std::isfinite(now.metric)) text += fmt::format("  valid {} {:.{}f}", metric, now.metric, decimals);
  if (count > 3) text += fmt::format("  {} {}", short_number(now.tokens_per_second), brief ? "tok/s" : "tokens/s");
  if (count > 4) text += "  " + bytes_in_words(now.memory_bytes);
  return text;
}

std::vector<std::string> lines_with(const std::vector<ActiveRun>& runs, const std::string& metric,
                                    const Detail& detail) {
  std::vector<std::string> names;
  for (const ActiveRun& run : runs) names.push_back(run.name);
  names = shortened(names, detail.name_width);
  std::size_t name_width = 0;
  for (const std::string& name : names) name_width = std::max(name_width, name.size());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    lines.push_back(fmt::format("{}{:<{}}{}", bar(runs[i].now, detail.bar_width), names[i], name_width,
                                figures(runs[i].now, metric, detail)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> progress_lines(const std::vector<ActiveRun>& runs, const std::string& metric,
                                        std::size_t width) {
  std::vector<std::string> lines;
  for (const Detail& detail : details) {
    lines = lines_with(runs, metric, detail);
    if (std::ranges::all_of(lines, [&](const std::string& line) { return line.size() < width; })) return lines;
  }
  for (std::string& line : lines) line.resize(std::min(line.size(), std::max<std::size_t>(width, 1) - 1));
  return lines;
}

RunTotals::RunTotals(const ExperimentPlan& plan) : jobs_(std::max(1, plan.jobs)) {
  for (const RunEstimate& run : plan.runs) {
    runs_[run.name] = {.estimate = run.seconds, .ended = !run.error.empty(), .failed = !run.error.empty()};
  }
}

void RunTotals::note_progress(const std::string& name, const RunProgress& now) {
  Run& run = runs_[name];
  run.under_way = true;
  if (!std::isfinite(now.seconds_left)) return;
  run.seconds_left = now.seconds_left;
  if (now.step > 0 && now.step < now.steps) {
    run.seconds_in_all = now.seconds_left * static_cast<double>(now.steps) / static_cast<double>(now.steps - now.step);
  }
}

void RunTotals::note_end(const std::string& name, bool failed) {
  Run& run = runs_[name];
  run.ended = true;
  run.failed = failed;
  run.under_way = false;
}

double RunTotals::seconds_left() const {
  double seen = 0, estimated = 0, under_way = 0, longest = 0, to_come = 0;
  for (const auto& [name, run] : runs_) {
    if (run.seconds_in_all > 0) {
      seen += run.seconds_in_all;
      estimated += run.estimate;
    }
    if (run.ended) continue;
    if (run.seconds_in_all > 0) {
      under_way += run.seconds_left;
      longest = std::max(longest, run.seconds_left);
    } else {
      to_come += run.estimate;
    }
  }
  const double correction = estimated > 0 ? seen / estimated : 1;
  return std::max(longest, (under_way + correction * to_come) / jobs_);
}

std::string RunTotals::in_words() const {
  if (runs_.size() < 2) return "";
  const auto count = [&](bool Run::*state) {
    return std::ranges::count_if(runs_, [&](const auto& entry) { return entry.second.*state; });
  };
  const auto ended = count(&Run::ended), under_way = count(&Run::under_way), failed = count(&Run::failed);
  const std::string where = under_way == 1 ? fmt::format("run {} of {}", ended + 1, runs_.size())
                                           : fmt::format("{} of {} runs done", ended - failed, runs_.size());
  return fmt::format("{}{}, {} left in all", where, failed > 0 ? fmt::format(", {} failed", failed) : "",
                     seconds_in_words(seconds_left()));
}

ProgressDisplay::ProgressDisplay(const ExperimentPlan& plan)
    : on_terminal_(isatty(STDERR_FILENO) != 0), metric_(plan.metric), totals_(plan) {}

void ProgressDisplay::erase() {
  // Up to the first line, then clear to the end of the screen.
  if (drawn_ > 0) fmt::print(stderr, "\x1b[{}F\x1b[J", drawn_);
  drawn_ = 0;
}

void ProgressDisplay::draw() {
  const std::size_t width = terminal_width();  // a wrapped line would count as two
  std::vector<std::string> lines = progress_lines(active_, metric_, width);
  const std::string totals = totals_.in_words();
  if (!active_.empty() && !totals.empty() && totals.size() < width) lines.push_back(totals);
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  drawn_ = lines.size();
  last_drawn_ = Clock::now();
}

void ProgressDisplay::print_now_and_then(const std::string& run, const RunProgress& now) {
  const std::int64_t tenth = 10 * now.step / std::max<std::int64_t>(1, now.steps);
  // Nothing is said of runs that end within the first ten seconds but how they ended.
  const auto [last, is_new] = last_lines_.try_emplace(run, LastLine{Clock::now(), tenth});
  if (is_new || tenth <= last->second.tenth || Clock::now() - last->second.time < print_after) return;
  last->second = {Clock::now(), tenth};
  const std::string totals = totals_.in_words();
  fmt::print(stderr, "{}{}{}\n", run, figures(now, metric_, details[0]),
             totals.empty() ? "" : fmt::format("  ({})", totals));
}

void ProgressDisplay::show(const std::string& run, const RunProgress& now) {
  totals_.note_progress(run, now);
  if (!on_terminal_) return print_now_and_then(run, now);
  const auto known = std::ranges::find(active_, run, &ActiveRun::name);
  (known == active_.end() ? active_.emplace_back() : *known) = {run, now};
  if (Clock::now() - last_drawn_ < redraw_after) return;
  erase();
  draw();
}

void ProgressDisplay::finish(const std::string& run, const std::string& words, bool failed) {
  totals_.note_end(run, failed);
  last_lines_.erase(run);
  if (on_terminal_) {
    erase();
    std::erase_if(active_, [&](const ActiveRun& active) { return active.name == run; });
  }
  fmt::print(stderr, "{}  {}\n", run, words);
  if (on_terminal_) draw();
}

}  // namespace bough::cli
