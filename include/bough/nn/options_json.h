#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "bough/core/config.h"
#include "bough/nn/gat_layer.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/nn/input_layer.h"
#include "bough/nn/recurrent_stack.h"

/// Options of modules as JSON, with the names that experiments use:
///
///   auto options = nn::options_from_json<nn::GraphTransformerOptions>(
///       "model", {{"layers", 4}, {"dim", 128}, {"heads", 4}, {"ffn", 512}, {"norm", "pre"}});
///
/// The options of a layer stand beside those of the stack. "ffn" is feed_forward, four times dim unless given; "norm"
/// is "post" or "pre"; "bias" that of the feed-forward part ("attention_bias" has its own key); "soft_span" an object
/// {"max_span", "ramp"}, where max_span 0 means none; "activations" names an ActivationPolicy. The keys "kept" and
/// "checkpoint_layers" of older experiments are still read as activations. Dropout and norm of an InputLayer are
/// "input_dropout" and "input_norm", so that its options may stand beside those of the layers; for the same reason the
/// positions of a RecurrentStack are "child_positions". Its layers, dim and dropout have the keys of a transformer's.
///
/// Defaults are those of the structs here. A task of experiments has defaults of its own: that of the language model
/// has "norm": "pre" and a dropout.
namespace bough::nn {

/// What may be set, with these defaults: for a ParameterTable, alone or among parameters of one's own. A width (dim,
/// in, out) that is 0 in the defaults has to be given.
std::vector<Parameter> parameters_of(const LinearOptions& defaults);
std::vector<Parameter> parameters_of(const EmbeddingOptions& defaults);
std::vector<Parameter> parameters_of(const LayerNormOptions& defaults);
std::vector<Parameter> parameters_of(const FeedForwardOptions& defaults);
std::vector<Parameter> parameters_of(const LearnedPositionsOptions& defaults);
std::vector<Parameter> parameters_of(const InputLayerOptions& defaults);
std::vector<Parameter> parameters_of(const GraphSelfAttentionOptions& defaults);
std::vector<Parameter> parameters_of(const GraphTransformerLayerOptions& defaults);
std::vector<Parameter> parameters_of(const GraphTransformerOptions& defaults);
std::vector<Parameter> parameters_of(const GraphTransformerDecoderOptions& defaults);
std::vector<Parameter> parameters_of(const GatLayerOptions& defaults);
std::vector<Parameter> parameters_of(const RecurrentStackOptions& defaults);

/// Takes over the settings that parameters_of describes. There may be others among them, and some may be left out of
/// the table because a program decides them itself: these options stay as they are. ConfigError if dim is not a
/// multiple of heads.
void read_options(const Settings& settings, LinearOptions& options);
void read_options(const Settings& settings, EmbeddingOptions& options);
void read_options(const Settings& settings, LayerNormOptions& options);
void read_options(const Settings& settings, FeedForwardOptions& options);
void read_options(const Settings& settings, LearnedPositionsOptions& options);
void read_options(const Settings& settings, InputLayerOptions& options);
void read_options(const Settings& settings, GraphSelfAttentionOptions& options);
void read_options(const Settings& settings, GraphTransformerLayerOptions& options);
void read_options(const Settings& settings, GraphTransformerOptions& options);
void read_options(const Settings& settings, GraphTransformerDecoderOptions& options);
void read_options(const Settings& settings, GatLayerOptions& options);
void read_options(const Settings& settings, RecurrentStackOptions& options);

/// Strictly: an unknown key is a ConfigError that names the nearest one, and so is a value out of range. Errors name
/// `where`.
template <typename Options>
Options options_from_json(std::string_view where, const nlohmann::json& values, const Options& defaults = {}) {
  Options options = defaults;
  read_options(ParameterTable(parameters_of(defaults)).read(where, values), options);
  return options;
}

/// All of them, so that options_from_json gives the same options again: what a checkpoint holds about its model.
nlohmann::json to_json(const LinearOptions& options);
nlohmann::json to_json(const EmbeddingOptions& options);
nlohmann::json to_json(const LayerNormOptions& options);
nlohmann::json to_json(const FeedForwardOptions& options);
nlohmann::json to_json(const LearnedPositionsOptions& options);
nlohmann::json to_json(const InputLayerOptions& options);
nlohmann::json to_json(const GraphSelfAttentionOptions& options);
nlohmann::json to_json(const GraphTransformerLayerOptions& options);
nlohmann::json to_json(const GraphTransformerOptions& options);
nlohmann::json to_json(const GraphTransformerDecoderOptions& options);
nlohmann::json to_json(const GatLayerOptions& options);
nlohmann::json to_json(const RecurrentStackOptions& options);

}  // namespace bough::nn
