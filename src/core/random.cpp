#include "bough/core/random.h"

namespace bough {

RandomGenerator& default_generator() {
  // One for each thread, so that threads that train side by side neither race nor disturb each other's numbers.
  thread_local RandomGenerator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = RandomGenerator(seed); }

}  // namespace bough
