#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Memory final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    const IntegerLimits limits{.smallest = 0, .largest = 1 << 20};
    return {.name = "memory",
            .summary =
                "the segment, and cached states of the tokens before it (Transformer-XL); sources are the memory, "
                "then the tokens",
            .parameters =
                {
                    integer_parameter(
                        "length", "cached tokens before the segment; none given: as many as the segment has", limits),
                    integer_parameter("memory_length", "the same, where \"length\" is that of the sequence", limits),
                },
            .degree = {.parameter = "memory_length"}};
  }

  explicit Memory(const Settings& settings) : memory_(settings.optional_integer("length")) {
    const auto other = settings.optional_integer("memory_length");
    if (memory_ && other && memory_ != other) {
      throw ConfigError("memory",
                        fmt::format("length and memory_length mean the same, but are {} and {}", *memory_, *other));
    }
    if (other) memory_ = other;
  }

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int64_t memory = cached_tokens(options);
    if (memory < 0) throw GraphError("memory", fmt::format("there cannot be {} tokens before the segment", memory));
    const DistanceRelations relations = relations_for(options.length);
    builder.add_relations(relations.count(), DistanceRelations::name);
    builder.add_source_memory(memory);
    builder.add_source_tokens();
    builder.add_rule([=, length = builder.length(), causal = builder.causal()](std::int32_t token, InEdges& in) {
      relations.add_interval(in, token, -memory, causal ? token + 1 : length, memory);
    });
    return builder.build();
  }

  double attention_degree(const BuildOptions& options) const override {
    const auto length = static_cast<double>(options.length);
    return static_cast<double>(cached_tokens(options)) + (options.causal ? (length + 1) / 2 : length);
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_for(max_length).count(); }

 private:
  std::int64_t cached_tokens(const BuildOptions& options) const {
    const std::int64_t wanted = memory_.value_or(options.length);
    return std::min(wanted, options.past.value_or(wanted));
  }
  DistanceRelations relations_for(std::int64_t length) const { return {memory_.value_or(length) + length - 1}; }

  std::optional<std::int64_t> memory_;
};

}  // namespace

void add_memory(GeneratorRegistry& registry) { registry.add<Memory>(); }

}  // namespace bough
