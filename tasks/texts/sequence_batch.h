#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "bough/nn/layer_schedule.h"
#include "bough/nn/recurrent_stack.h"

namespace bough {

/// Which nodes stand for a sequence. Where there are several, their mean is taken, or their maximum.
enum class SequenceReadout {
  summary,  ///< what the pattern has for it: its root, else its block nodes, else all tokens
  root,     ///< the root alone
  tokens,   ///< the mean of all tokens
  maximum,  ///< the largest value that any token has, for each feature
};
/// "summary", "root", "tokens", "maximum", in the order of the values.
const std::vector<std::string>& sequence_readout_names();
SequenceReadout parse_sequence_readout(const std::string& name);

/// Sequences side by side, prepared for a model: one disjoint graph, and what each of its nodes starts from.
struct SequenceBatch {
  AttentionGraph graph = {};   ///< kept only if asked for
  Graph recurrent_graph = {};  ///< what recurrent layers run along; they have no schedule
  Tensor token_nodes = {};     ///< int32, nodes of recurrent_graph; undefined where the nodes are the tokens
  std::vector<std::int32_t> readout_nodes = {};  ///< of all sequences, in order; kept only if asked for
  nn::LayerSchedule schedule = {};               ///< of the layers, with the read-out nodes of all sequences, in order
  Tensor readout_rows = {};                      ///< int32, for recurrent layers, which compute all nodes
  Tensor words = {};                             ///< int32 [tokens]
  Tensor positions = {};                         ///< int32 [tokens], of each token in its sequence
  Tensor readout_offsets = {};                   ///< int64 [sequences + 1]; undefined where each sequence has one node
  bool maximum = false;                          ///< of the read-out nodes, instead of their mean
  bool has_placeholders = false;                 ///< some words are WordTable::placeholder
  std::int64_t num_sequences = 0;
};

/// ConfigError for a pattern whose tokens read states from outside of their text.
void require_own_tokens(const AttentionGraph& graph);

/// Attention plans are made on first use; made here, while another thread computes, they are ready when a step begins.
void make_attention_plans(const nn::LayerSchedule& schedule, bool with_relations);

/// Options of SequenceBatcher.
struct SequenceBatcherOptions {
  std::int64_t layers = 1;  ///< of the model
  SequenceReadout readout = SequenceReadout::summary;
  /// Sequences 2i and 2i+1 belong together: after each layer over its own graph, each node of one attends to all tokens
  /// of the other.
  bool cross = false;
  bool with_relations = true;  ///< the model has keys for them
  /// The model has recurrent layers, of these options, instead of graph attention: there is no schedule.
  std::optional<nn::RecurrentStackOptions> recurrent = {};
  std::int64_t cache_bytes = std::int64_t{256} << 20;  ///< of the graphs that are kept for sequences of equal length
  Device device = Device::cpu();
};

/// Makes batches of sequences of any lengths for one pattern. The graph of each length is built once and kept, as long
/// as there is room. May be used from several threads.
class SequenceBatcher {
 public:
  /// ConfigError for a pattern that reads something else than its own tokens, or that has no root where one is to be
  /// read.
  SequenceBatcher(std::shared_ptr<const GraphGenerator> generator, const SequenceBatcherOptions& options);

  /// At least one sequence, each with at least one word. With `placeholders`, so many positions without a word stand in
  /// front of each sequence. `keep_graph` is for readers of nodes and edges. O(nodes + edges of the batch).
  SequenceBatch make(const std::vector<std::span<const std::int32_t>>& sequences, std::int64_t placeholders = 0,
                     bool keep_graph = false) const;

  const GraphGenerator& generator() const { return *generator_; }
  const SequenceBatcherOptions& options() const { return options_; }

 private:
  std::shared_ptr<const GraphGenerator> generator_;
  SequenceBatcherOptions options_;
};

}  // namespace bough
