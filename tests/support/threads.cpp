#include "tests/support/threads.h"

#include <gtest/gtest.h>

#include "bough/core/parallel.h"
#include "tests/support/compare.h"

namespace bough::test {

ThreadCount::ThreadCount(int count) : previous_(num_threads()) { set_num_threads(count); }
ThreadCount::~ThreadCount() { set_num_threads(previous_); }

void expect_same_bits_for_threads(const std::function<std::vector<Tensor>()>& f, std::source_location where) {
  const auto run = [&f](int count) {
    const ThreadCount threads(count);
    return f();
  };
  const std::vector<Tensor> expected = run(1);
  for (int count : {2, 7}) {
    const std::vector<Tensor> actual = run(count);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "output " << i << " with " << count << " threads");
      expect_same_bits(actual[i], expected[i], where);
    }
  }
}

}  // namespace bough::test
