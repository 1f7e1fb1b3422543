#pragma once

#include <array>
#include <cstdint>

namespace bough {

/// One block of Philox 4x32-10 (Salmon et al., 2011): a pure function of counter and key, checked against the published
/// test vectors.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Numbers addressed by index: block(i) holds numbers 4i .. 4i+3. Two copies give the same numbers, in any order and
/// from any thread, which is why dropout masks need not be stored.
struct RandomStream {
  std::uint64_t seed = 0;    ///< of all streams
  std::uint64_t stream = 0;  ///< its number

  /// Four numbers, or one of them.
  constexpr std::array<std::uint32_t, 4> block(std::uint64_t index) const {
    return philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                       static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
  constexpr std::uint32_t operator()(std::uint64_t index) const { return block(index / 4)[index % 4]; }
};

/// Uniform in [0, 1) with 24 bits.
constexpr float uniform_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// Hands out streams; each random operation takes one. The state is two numbers, so it can be saved and restored.
class RandomGenerator {
 public:
  /// Starts at stream 0.
  explicit RandomGenerator(std::uint64_t seed = 0) : state_{seed, 0} {}

  /// A stream that was not handed out before.
  RandomStream next_stream() { return {state_.seed, state_.stream++}; }
  /// The seed and the number of streams handed out.
  RandomStream state() const { return state_; }
  void set_state(RandomStream state) { state_ = state; }

 private:
  RandomStream state_;
};

/// The generator that random operations use unless given one. One for each thread that asks; seed 0 at the start.
RandomGenerator& default_generator();

/// Restarts the calling thread's default generator.
void manual_seed(std::uint64_t seed);

}  // namespace bough
