#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace bough {

/// Number of threads that parallel loops use: set_num_threads, else BOUGH_THREADS, else the machine's cores.
int num_threads();

/// Results never depend on it. ConfigError below 1 or above 1024. Not to be called while a parallel loop runs.
void set_num_threads(int count);

/// A borrowed callable: costs one pointer call, owns nothing, must not outlive what it refers to. With Result void the
/// callable may return anything, which is dropped.
template <typename Signature>
class FunctionRef;

/// Refers to a callable that takes these arguments.
template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  /// Borrows a callable.
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : target_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* target, Arguments... arguments) -> Result {
          auto& function = *static_cast<std::remove_reference_t<F>*>(target);
          if constexpr (std::is_void_v<Result>) {
            static_cast<void>(function(std::forward<Arguments>(arguments)...));
          } else {
            return function(std::forward<Arguments>(arguments)...);
          }
        }) {}

  /// Calls it.
  Result operator()(Arguments... arguments) const { return call_(target_, std::forward<Arguments>(arguments)...); }

 private:
  void* target_;
  Result (*call_)(void*, Arguments...);
};

/// Calls body(begin, end) for the chunks [0,chunk), [chunk,2*chunk), ... of [0,count), in any order, on any threads.
/// The chunks depend on count and chunk only, so partial results kept per chunk and merged in order are the same for
/// every number of threads. A single chunk runs on the calling thread. Exceptions of body reach the caller.
void parallel_chunks(std::int64_t count, std::int64_t chunk, FunctionRef<void(std::int64_t, std::int64_t)> body);

/// How many chunks parallel_chunks makes; chunk i is [i*chunk, min(count, (i+1)*chunk)).
constexpr std::int64_t num_chunks(std::int64_t count, std::int64_t chunk) { return (count + chunk - 1) / chunk; }

/// A chunk of rows that holds about `target` units of work when one row costs `row_cost`; at least one row.
constexpr std::int64_t rows_per_chunk(std::int64_t row_cost, std::int64_t target = 32768) {
  return std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, row_cost));
}

}  // namespace bough
