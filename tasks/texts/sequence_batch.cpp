#include "tasks/texts/sequence_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bough/core/errors.h"
#include "bough/ops/attention_plan.h"
#include "tasks/texts/cached_generator.h"
#include "tasks/texts/cross_stage.h"
#include "tasks/texts/word_table.h"

namespace bough {
namespace {

template <typename Number>
Tensor as_vector(const std::vector<Number>& numbers, Device device) {
  return Tensor::from_vector(numbers, {std::ssize(numbers)}).to(device);
}

/// Nodes that stand for the sequences, and where those of each begin.
struct ReadoutNodes {
  std::vector<std::int32_t> nodes;
  std::vector<std::int64_t> offsets = {0};
};

ReadoutNodes readout_nodes(const AttentionGraph& graph, SequenceReadout readout) {
  ReadoutNodes result;
  const auto add = [&result](const std::vector<std::int32_t>& nodes, std::int64_t begin, std::int64_t end) {
    result.nodes.insert(result.nodes.end(), nodes.begin() + begin, nodes.begin() + end);
  };
  for (const Sequence& sequence : graph.sequences) {
    if (readout == SequenceReadout::root) {
      result.nodes.push_back(sequence.root);
    } else if (readout == SequenceReadout::summary) {
      add(graph.readout, sequence.readout_begin, sequence.readout_end);
    } else {
      add(graph.tokens, sequence.token_begin, sequence.token_end);
    }
    result.offsets.push_back(std::ssize(result.nodes));
  }
  return result;
}

}  // namespace

void require_own_tokens(const AttentionGraph& graph) {
  if (!graph.graph.is_bipartite()) return;
  throw ConfigError("graph",
                    "the pattern reads states from outside of the text, and here are only texts that stand alone; use "
                    "a pattern whose tokens attend to their own text");
}

void make_attention_plans(const nn::LayerSchedule& schedule, bool with_relations) {
  for (const auto& stages : schedule.layers) {
    for (const nn::LayerStep& step : stages) {
      for (const Graph& graph : step.graphs) attention_plan_summary(graph, with_relations);
    }
  }
}

const std::vector<std::string>& sequence_readout_names() {
  static const std::vector<std::string> names = {"summary", "root", "tokens", "maximum"};
  return names;
}

SequenceReadout parse_sequence_readout(const std::string& name) {
  const auto& names = sequence_readout_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw ConfigError("readout", fmt::format("there is no readout '{}'", name));
  return static_cast<SequenceReadout>(found - names.begin());
}

SequenceBatcher::SequenceBatcher(std::shared_ptr<const GraphGenerator> generator, const SequenceBatcherOptions& options)
    : generator_(std::make_shared<CachedGenerator>(std::move(generator), options.cache_bytes)), options_(options) {
  const AttentionGraph graph = generator_->build({.length = generator_->fixed_length().value_or(4)});
  require_own_tokens(graph);
  if (options_.readout == SequenceReadout::root && graph.root < 0) {
    throw ConfigError("model", "readout is \"root\", but the pattern has no root; use \"summary\" or \"tokens\"");
  }
  if (options_.cross) require_cross_stage(graph);
  if (options_.recurrent) nn::check_recurrent_graph(graph, *options_.recurrent);
}

SequenceBatch SequenceBatcher::make(const std::vector<std::span<const std::int32_t>>& sequences,
                                    std::int64_t placeholders, bool keep_graph) const {
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> words, positions;
  for (const std::span<const std::int32_t> sequence : sequences) {
    lengths.push_back(placeholders + std::ssize(sequence));
    words.insert(words.end(), static_cast<std::size_t>(placeholders), WordTable::placeholder);
    words.insert(words.end(), sequence.begin(), sequence.end());
    for (std::int64_t at = 0; at < lengths.back(); ++at) positions.push_back(static_cast<std::int32_t>(at));
  }
  AttentionGraph graph = build_batch(*generator_, lengths, false);
  if (options_.cross) graph = with_cross_stage(std::move(graph));
  ReadoutNodes readout = readout_nodes(graph, options_.readout);

  SequenceBatch batch{.maximum = options_.readout == SequenceReadout::maximum,
                      .has_placeholders = placeholders > 0,
                      .num_sequences = std::ssize(sequences)};
  if (options_.recurrent) {
    batch.recurrent_graph = graph.graph;
    batch.readout_rows = as_vector(readout.nodes, options_.device);
  } else {
    batch.schedule = nn::make_layer_schedule(graph, {.layers = options_.layers, .readout = readout.nodes});
    if (options_.device == Device::cpu()) make_attention_plans(batch.schedule, options_.with_relations);
    batch.schedule = batch.schedule.to(options_.device);
  }
  batch.words = as_vector(words, options_.device);
  batch.positions = as_vector(positions, options_.device);
  if (std::ssize(readout.nodes) != batch.num_sequences) {
    batch.readout_offsets = as_vector(readout.offsets, options_.device);
  }
  if (keep_graph) batch.graph = std::move(graph);
  if (keep_graph) batch.readout_nodes = std::move(readout.nodes);
  return batch;
}

}  // namespace bough
