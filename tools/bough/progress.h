#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace bough::cli {

/// Tells a person on stderr how far long work is: one line that is redrawn on a terminal, a line now and then
/// otherwise.
class ProgressLine {
 public:
  ProgressLine();
  /// Ends the line that was being redrawn.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Cheap enough to be called after every step: draws only if it is time to. done of total, and a few words more.
  void show(std::int64_t done, std::int64_t total, std::string_view words);

 private:
  bool is_due(std::int64_t done, std::int64_t total) const;

  bool on_terminal_;
  bool drawn_ = false;
  std::int64_t last_tenth_ = 0;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace bough::cli
