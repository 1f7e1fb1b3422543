#include "bough/core/parallel.h"

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "bough/core/errors.h"

/// ThreadSanitizer cannot look into TBB, so it takes the hand-over of work to other threads and back for a race. These
/// two say that it is none: what came before note_release(p) is visible after note_acquire(p). They come with the
/// sanitizer and do not exist elsewhere, where nothing is called.
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace bough {
namespace {

void note_acquire(void* address) {
  if (__tsan_acquire != nullptr) __tsan_acquire(address);
}
void note_release(void* address) {
  if (__tsan_release != nullptr) __tsan_release(address);
}

/// A stretch of a thread's work between two such points.
class NotedWork {
 public:
  NotedWork(void* start, void* end) : end_(end) { note_acquire(start); }
  ~NotedWork() { note_release(end_); }
  NotedWork(const NotedWork&) = delete;
  NotedWork& operator=(const NotedWork&) = delete;

 private:
  void* end_;
};

constexpr int max_threads = 1024;

void require_thread_count(const char* where, std::string_view text, int count) {
  if (count < 1 || count > max_threads) {
    throw ConfigError(where, fmt::format("must be a whole number from 1 to {}, not '{}'", max_threads, text));
  }
}

int initial_threads() {
  const char* text = std::getenv("BOUGH_THREADS");
  if (text == nullptr || *text == '\0') return oneapi::tbb::info::default_concurrency();
  const std::string_view view = text;
  int count = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), count);
  require_thread_count("BOUGH_THREADS", view, error == std::errc() && end == view.data() + view.size() ? count : 0);
  return count;
}

/// The threads of the process: made on first use, remade when the number changes.
class Workers {
 public:
  Workers() { resize(initial_threads()); }

  int count() const { return count_; }
  oneapi::tbb::task_arena& arena() { return *arena_; }

  void resize(int count) {
    // Without raising the limit TBB would never use more threads than cores, and tests with 7 would prove nothing.
    limit_.emplace(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
    arena_.emplace(count);
    count_ = count;
  }

 private:
  int count_ = 1;
  std::optional<oneapi::tbb::global_control> limit_;
  std::optional<oneapi::tbb::task_arena> arena_;
};

Workers& workers() {
  static Workers instance;
  return instance;
}

}  // namespace

int num_threads() { return workers().count(); }

void set_num_threads(int count) {
  require_thread_count("set_num_threads", std::to_string(count), count);
  if (count != workers().count()) workers().resize(count);
}

void parallel_chunks(std::int64_t count, std::int64_t chunk, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (count <= 0) return;
  const std::int64_t chunks = num_chunks(count, chunk);
  const auto run = [&](std::int64_t number) { body(number * chunk, std::min(count, (number + 1) * chunk)); };
  if (chunks == 1 || workers().count() == 1) {
    for (std::int64_t number = 0; number < chunks; ++number) run(number);
    return;
  }
  char handed_over = 0, done = 0;
  const auto run_noted = [&](std::int64_t number) {
    const NotedWork work(&handed_over, &done);
    run(number);
  };
  note_release(&handed_over);
  // Isolated: a thread that waits for its chunks takes up no foreign ones, which might ask for a lock it holds itself
  // (that of a graph format being built, for instance).
  workers().arena().execute([&] {
    oneapi::tbb::this_task_arena::isolate([&] { oneapi::tbb::parallel_for(std::int64_t{0}, chunks, run_noted); });
  });
  note_acquire(&done);
}

}  // namespace bough
