#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

constexpr int attempts = 64;  // to move a token whose place in a ring repeats an edge

/// A random regular graph: random rings through all tokens, each giving every token its two neighbours.
class Rings {
 public:
  Rings(std::int64_t length, std::int64_t degree, std::uint64_t seed)
      : length_(length), degree_(degree), neighbours_(static_cast<std::size_t>(length * degree)) {
    while (filled_ < degree_) {
      const auto number = static_cast<std::uint64_t>(filled_ / 2);
      std::vector<std::int32_t> ring = shuffled(length, {seed, 2 * number});
      mend(ring, {seed, 2 * number + 1});
      add(ring);
    }
    for (std::int64_t token = 0; token < length_; ++token) std::ranges::sort(slots(token));
  }

  /// Ascending. A sequence hardly longer than the degree may leave no way but to list a neighbour twice.
  std::span<const std::int32_t> neighbours(std::int32_t token) const {
    return std::span(neighbours_).subspan(static_cast<std::size_t>(token * degree_), static_cast<std::size_t>(degree_));
  }

 private:
  std::span<std::int32_t> slots(std::int64_t token) {
    return std::span(neighbours_).subspan(static_cast<std::size_t>(token * degree_), static_cast<std::size_t>(degree_));
  }

  std::int32_t& at(std::vector<std::int32_t>& ring, std::int64_t place) const {
    return ring[static_cast<std::size_t>((place + length_) % length_)];
  }

  bool is_new(std::int32_t one, std::int32_t other) const {
    const auto known = neighbours(one).first(static_cast<std::size_t>(filled_));
    return std::ranges::find(known, other) == known.end();
  }
  /// Whether the edges on both sides of a place are new.
  bool fits(std::vector<std::int32_t>& ring, std::int64_t place) const {
    return is_new(at(ring, place - 1), at(ring, place)) && is_new(at(ring, place), at(ring, place + 1));
  }

  /// Rings share a few edges by chance; swapping the tokens concerned with others avoids it wherever there is room.
  void mend(std::vector<std::int32_t>& ring, RandomStream random) const {
    std::uint64_t drawn = 0;
    for (std::int64_t place = 0; place < length_; ++place) {
      for (int attempt = 0; attempt < attempts && !fits(ring, place); ++attempt) {
        const std::int64_t other = below(length_, random(drawn++));
        std::swap(at(ring, place), at(ring, other));
        if (!fits(ring, place) || !fits(ring, other)) std::swap(at(ring, place), at(ring, other));
      }
    }
  }

  /// An odd degree ends with a ring that is followed in one direction only.
  void add(std::vector<std::int32_t>& ring) {
    const bool both_ways = filled_ + 1 < degree_;
    for (std::int64_t place = 0; place < length_; ++place) {
      const auto list = slots(at(ring, place)).subspan(static_cast<std::size_t>(filled_));
      list[0] = at(ring, place - 1);
      if (both_ways) list[1] = at(ring, place + 1);
    }
    filled_ += both_ways ? 2 : 1;
  }

  std::int64_t length_;
  std::int64_t degree_;
  std::int64_t filled_ = 0;  ///< neighbours of each token so far
  std::vector<std::int32_t> neighbours_;
};

class Expander final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {
        .name = "expander",
        .summary = "a random regular graph: itself and `degree` random tokens, any two tokens a few steps apart",
        .parameters = {
            integer_parameter("degree", "tokens attended to beside itself (causal: those of them that are earlier)",
                              {.initial = 8, .smallest = 1, .largest = 4096}),
            integer_parameter("seed", "of the choice; the same seed gives the same graph everywhere", {.initial = 1}),
        }};
  }

  explicit Expander(const Settings& settings)
      : degree_(settings.integer("degree")), seed_(static_cast<std::uint64_t>(settings.integer("seed"))) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int32_t self = builder.add_relation("self");
    const std::int32_t left = builder.add_relation("left");
    const std::int32_t right = builder.add_relation("right");
    const std::int64_t length = builder.length();
    const bool causal = builder.causal();
    if (degree_ >= length - 1) {
      builder.add_rule([=](std::int32_t token, InEdges& in) {
        in.add_interval(0, token, left);
        in.add(token, self);
        if (!causal) in.add_interval(token + 1, length, right);
      });
      return builder.build();
    }
    const auto rings = std::make_shared<const Rings>(length, degree_, seed_);
    builder.add_rule([=](std::int32_t token, InEdges& in) {
      std::int32_t last = -1;
      const auto add = [&](std::int32_t source, std::int32_t relation) {
        if (source != last) in.add(source, relation);
        last = source;
      };
      const auto all = rings->neighbours(token);
      const auto later = std::ranges::upper_bound(all, token);
      for (auto other = all.begin(); other != later; ++other) add(*other, left);
      add(token, self);
      if (causal) return;
      for (auto other = later; other != all.end(); ++other) add(*other, right);
    });
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t) const override { return 3; }

 private:
  std::int64_t degree_;
  std::uint64_t seed_;
};

}  // namespace

void add_expander(GeneratorRegistry& registry) { registry.add<Expander>(); }

}  // namespace bough
