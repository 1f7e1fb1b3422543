#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bough/tasks/run_experiment.h"

namespace bough::cli {

/// A run that is under way.
struct ActiveRun {
  std::string name;
  RunProgress now;
};

/// One line for each run, all shorter than `width` characters: name, time left, steps, loss, validation metric, speed,
/// memory and, where there is room, a bar. Where room is short the bar goes first, then figures and names get shorter
/// forms, then the least telling figures go; the time left always stays.
std::vector<std::string> progress_lines(const std::vector<ActiveRun>& runs, const std::string& metric,
                                        std::size_t width);

/// Counts the runs of an experiment and estimates what is left of all of them. The estimates of the plan, which are
/// right within a factor of two, are corrected by the runs that have been seen.
class RunTotals {
 public:
  explicit RunTotals(const ExperimentPlan& plan);

  void note_progress(const std::string& run, const RunProgress& now);
  void note_end(const std::string& run, bool failed = false);

  /// Of the runs under way and those to come, as many side by side as the plan says.
  double seconds_left() const;
  /// "run 3 of 22, 4 min left in all", "2 of 22 runs done, 1 failed, 4 min left in all"; empty for a single run.
  std::string in_words() const;

 private:
  struct Run {
    double estimate = 0;  ///< of the plan
    bool under_way = false, ended = false, failed = false;
    double seconds_left = 0, seconds_in_all = 0;  ///< as its own progress says; 0 before the first
  };
  int jobs_;
  std::map<std::string, Run> runs_;
};

/// Tells a person on stderr how far the runs of an experiment are: on a terminal a line for each run under way and one
/// for all of them, redrawn in place; otherwise lines that stay, for each run one every tenth of it and not more than
/// one every ten seconds.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(const ExperimentPlan& plan);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// Cheap enough to be called often: draws only if it is time to.
  void show(const std::string& run, const RunProgress& now);
  /// The run has ended: its line makes room for one that stays.
  void finish(const std::string& run, const std::string& words, bool failed = false);

 private:
  using Clock = std::chrono::steady_clock;
  struct LastLine {
    Clock::time_point time;
    std::int64_t tenth = 0;
  };

  void erase();
  void draw();
  void print_now_and_then(const std::string& run, const RunProgress& now);

  bool on_terminal_;
  std::string metric_;
  RunTotals totals_;
  std::vector<ActiveRun> active_;
  std::map<std::string, LastLine> last_lines_;  ///< of runs, where this is no terminal
  std::size_t drawn_ = 0;                       ///< lines on the screen, the cursor below them
  Clock::time_point last_drawn_;
};

}  // namespace bough::cli
