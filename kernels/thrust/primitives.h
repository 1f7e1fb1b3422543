#pragma once

#include <concepts>
#include <cstdint>

namespace bough::parallel {

/// What grouping asks of the place where its arrays are. kernels/cuda/grouping.cu has it on a GPU, with CUB;
/// tests/emulator/thrust_test.cpp on the host, through Thrust's TBB backend.
///
///     policy()                               for algorithms of Thrust
///     scratch<T>(count)                      room for elements, with data(), until all that was asked for is done
///     sort_pairs(keys, sorted_keys, values, sorted_values, count, bits)
///                                            by keys from 0 to 2^bits - 1; those of equal keys keep their order
///     exclusive_sum(values, sums, count)     sums[i] = values[0] + ... + values[i - 1]; may be the same array
template <typename P>
concept Primitives = requires(P& place, const std::int64_t* keys, std::int64_t* results, const std::int32_t* values,
                              std::int32_t* sorted_values, std::int64_t count) {
  place.policy();
  { place.template scratch<std::int64_t>(count).data() } -> std::convertible_to<std::int64_t*>;
  place.sort_pairs(keys, results, values, sorted_values, count, 62);
  place.exclusive_sum(keys, results, count);
};

}  // namespace bough::parallel
