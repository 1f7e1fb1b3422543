#pragma once

#include <concepts>
#include <functional>
#include <source_location>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::test {

/// Restores the number of threads at the end of the scope.
class ThreadCount {
 public:
  explicit ThreadCount(int count);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int previous_;
};

/// Runs f with 1, 2 and 7 threads and fails unless every tensor it returns is bitwise the same.
/// Use sizes that the operation really splits.
void expect_same_bits_for_threads(const std::function<std::vector<Tensor>()>& f,
                                  std::source_location where = std::source_location::current());

/// The same for a function that gives one tensor.
template <typename F>
requires std::same_as<std::invoke_result_t<F>, Tensor>
void expect_same_bits_for_threads(const F& f, std::source_location where = std::source_location::current()) {
  expect_same_bits_for_threads(std::function<std::vector<Tensor>()>([&f] { return std::vector<Tensor>{f()}; }), where);
}

}  // namespace bough::test
