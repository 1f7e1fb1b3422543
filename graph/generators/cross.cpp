#include <fmt/format.h>

#include <numeric>

#include "bough/core/errors.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

using Lengths = std::vector<std::int64_t>;

/// Where each sentence begins, and the end of the last.
Lengths starts_of(const Lengths& sentences) {
  Lengths starts(sentences.size() + 1, 0);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i] < 0 || sentences[i] > max_sequence_length) {
      throw ConfigError("cross",
                        fmt::format("a sentence has from 0 to {} tokens, not {}", max_sequence_length, sentences[i]));
    }
    starts[i + 1] = starts[i] + sentences[i];
  }
  return starts;
}

class Cross final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    const Parameter sentence = integer_parameter("", "", {.smallest = 0, .largest = max_sequence_length});
    return {
        .name = "cross",
        .summary = "between two sequences: a token attends to all tokens of the aligned sentence of the other",
        .parameters = {
            list_parameter("sentences", "lengths of the sentences; none given: all tokens are one sentence", sentence),
            list_parameter("source_sentences",
                           "lengths of the other sequence's sentences; none given: the same as this one's", sentence),
        }};
  }

  explicit Cross(const Settings& settings)
      : sentences_(settings.integers("sentences")), source_sentences_(settings.integers("source_sentences")) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    Lengths sentences = options.sentences.empty() ? sentences_ : options.sentences;
    if (sentences.empty()) sentences = {options.length};
    Lengths source_sentences = options.source_sentences.empty() ? source_sentences_ : options.source_sentences;
    if (source_sentences.empty()) source_sentences = sentences;
    if (sentences.size() != source_sentences.size()) {
      throw ConfigError("cross", fmt::format("sentences are aligned one to one, but there are {} and {} of them",
                                             sentences.size(), source_sentences.size()));
    }
    const Lengths starts = starts_of(sentences);
    const Lengths source_starts = starts_of(source_sentences);
    if (starts.back() != options.length) {
      throw ConfigError("cross", fmt::format("the sentences have {} tokens in all, but the sequence has {}",
                                             starts.back(), options.length));
    }
    const std::int32_t aligned = builder.add_relation("aligned");
    builder.add_source_sequence(source_starts.back());
    builder.add_rule([starts, source_starts, aligned](std::int32_t token, InEdges& in) {
      const auto next = std::upper_bound(starts.begin(), starts.end(), std::int64_t{token});
      const auto sentence = static_cast<std::size_t>(next - starts.begin()) - 1;
      in.add_interval(source_starts[sentence], source_starts[sentence + 1], aligned);
    });
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t) const override { return 1; }

 private:
  Lengths sentences_;
  Lengths source_sentences_;
};

}  // namespace

void add_cross(GeneratorRegistry& registry) { registry.add<Cross>(); }

}  // namespace bough
