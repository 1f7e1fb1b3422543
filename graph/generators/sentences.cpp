#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

/// Sentences farther back than this share a relation.
constexpr std::int64_t farthest_sentence = 8;

/// Where each sentence begins, and the end of the last; sentences without a token are left out.
std::vector<std::int64_t> sentence_starts(const BuildOptions& options, std::int64_t size) {
  std::vector<std::int64_t> starts{0};
  const auto add = [&starts](std::int64_t length) {
    if (length < 0) throw ConfigError("sentences", fmt::format("a sentence cannot have {} tokens", length));
    if (length > 0) starts.push_back(starts.back() + length);
  };
  if (options.sentences.empty()) {
    while (starts.back() < options.length) add(std::min(size, options.length - starts.back()));
    return starts;
  }
  for (const std::int64_t length : options.sentences) add(std::min(length, max_sequence_length));
  if (starts.back() != options.length) {
    throw ConfigError("sentences", fmt::format("the sentences have {} tokens in all, but the sequence has {}",
                                               starts.back(), options.length));
  }
  return starts;
}

/// What a token sees of the sentences before its own.
enum class Reads { nodes, tokens, nothing };

class Sentences final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "sentences",
            .summary =
                "tokens within their sentence, and of earlier ones a node each (HAN-NMT), all tokens (a cache of "
                "past translations) or nothing",
            .parameters =
                {
                    choice_parameter("reads", "what a token sees of earlier sentences", {"nodes", "tokens", "nothing"}),
                    integer_parameter("max_distance", "tokens farther away than this share its relation",
                                      {.initial = 128, .smallest = 0, .largest = 1 << 20}),
                    integer_parameter("size", "tokens of a sentence, where the task does not say which tokens are one",
                                      {.initial = 16, .smallest = 1, .largest = 1 << 20}),
                },
            .degree = {.parameter = "size"}};
  }

  explicit Sentences(const Settings& settings)
      : reads_(reads_of(settings.string("reads"))),
        max_distance_(settings.integer("max_distance")),
        size_(settings.integer("size")) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::vector<std::int64_t> starts = sentence_starts(options, size_);
    const std::int32_t first_node = builder.num_nodes();
    const auto count = std::ssize(starts) - 1;
    std::int32_t member = 0, past = 0;
    if (reads_ == Reads::nodes) {
      for (std::int64_t i = 0; i < count; ++i) builder.add_span(1, starts[at(i)], starts[at(i + 1)]);
      member = builder.add_relation("member");
      builder.add_relations(farthest_sentence, [](std::int64_t i) { return fmt::format("sentence left({})", i + 1); });
    } else if (reads_ == Reads::tokens) {
      past = builder.add_relation("past");
    }
    DistanceRelations inside = distances(options.length);
    inside.first = builder.num_relations();
    builder.add_relations(inside.count(), DistanceRelations::name);

    builder.add_rule([=, this, causal = builder.causal()](std::int32_t token, InEdges& in) {
      const std::int64_t sentence = std::ranges::upper_bound(starts, std::int64_t{token}) - starts.begin() - 1;
      const std::int64_t begin = starts[at(sentence)], end = causal ? token + 1 : starts[at(sentence + 1)];
      if (reads_ == Reads::tokens) in.add_interval(0, begin, past);
      inside.add_interval(in, token, begin, end);
      if (reads_ != Reads::nodes) return;
      for (std::int64_t earlier = 0; earlier < sentence; ++earlier) {
        const auto back = static_cast<std::int32_t>(std::min(sentence - earlier, farthest_sentence));
        in.add(first_node + static_cast<std::int32_t>(earlier), member + back);
      }
    });
    if (reads_ != Reads::nodes) return builder;
    builder.add_rule(first_node, builder.num_nodes(), [=](std::int32_t node, InEdges& in) {
      const std::int64_t sentence = node - first_node;
      in.add_interval(starts[at(sentence)], starts[at(sentence + 1)], member);
    });
    std::vector<std::int32_t> nodes(at(count));
    std::iota(nodes.begin(), nodes.end(), first_node);
    builder.set_readout(std::move(nodes));
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    const std::int64_t others = reads_ == Reads::nodes ? 1 + farthest_sentence : reads_ == Reads::tokens ? 1 : 0;
    return others + distances(max_length).count();
  }

 private:
  static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
  static Reads reads_of(const std::string& name) {
    return name == "nodes" ? Reads::nodes : name == "tokens" ? Reads::tokens : Reads::nothing;
  }
  DistanceRelations distances(std::int64_t length) const { return {std::min(max_distance_, length - 1)}; }

  Reads reads_;
  std::int64_t max_distance_, size_;
};

}  // namespace

void add_sentences(GeneratorRegistry& registry) { registry.add<Sentences>(); }

}  // namespace bough
