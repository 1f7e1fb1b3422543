#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bough::cli {

/// Tells a person on stderr how far several long works are: a bar for each that is redrawn on a terminal, a line now
/// and then otherwise.
class ProgressLines {
 public:
  ProgressLines();
  ProgressLines(const ProgressLines&) = delete;
  ProgressLines& operator=(const ProgressLines&) = delete;

  /// Cheap enough to be called often: draws only if it is time to. done of total, and a few words more.
  void show(const std::string& name, std::int64_t done, std::int64_t total, const std::string& words);
  /// The work has ended: its bar makes room for a line that stays.
  void finish(const std::string& name, const std::string& words);

 private:
  struct Bar {
    std::string name;
    std::int64_t done = 0, total = 1;
    std::string words;
  };

  void erase_bars();
  void draw_bars();

  bool on_terminal_;
  std::vector<Bar> bars_;
  std::map<std::string, std::int64_t> last_tenths_;
  std::size_t drawn_ = 0;  ///< bars on the screen, the cursor below them
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace bough::cli
