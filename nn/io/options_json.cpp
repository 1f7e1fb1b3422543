#include "bough/nn/options_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

using nlohmann::json;

template <typename T>
struct Choice {
  const char* name;
  T value;
};

constexpr std::array<Choice<ActivationPolicy>, 4> policies{
    {{"automatic", ActivationPolicy::automatic},
     {"save_all", ActivationPolicy::save_all},
     {"recompute_cheap", ActivationPolicy::recompute_cheap},
     {"checkpoint_layers", ActivationPolicy::checkpoint_layers}}};
/// What experiments wrote before there was "activations".
constexpr const char* old_checkpoint_key = "checkpoint_layers";
constexpr const char* old_saved_key = "kept";

// Every option struct is listed once, in visit_fields below; what happens to a field is one of these three.

/// Collects the parameters, with the struct's values as defaults.
struct Describe {
  std::vector<Parameter> parameters;

  void integer(const char* name, const char* help, std::int64_t value, std::int64_t smallest, std::int64_t largest) {
    parameters.push_back(integer_parameter(name, help, {.initial = value, .smallest = smallest, .largest = largest}));
  }
  /// Has to be given if it is 0 so far.
  void width(const char* name, const char* help, std::int64_t value, std::int64_t largest) {
    integer(name, help, std::max<std::int64_t>(value, 1), 1, largest);
    if (value == 0) parameters.back().initial = {};
    parameters.back().required = value == 0;
  }
  /// Absent if it is 0.
  void optional_width(const char* name, const char* help, std::int64_t value, std::int64_t largest) {
    width(name, help, value, largest);
    parameters.back().required = false;
  }
  void number(const char* name, const char* help, double value, double minimum, double maximum) {
    parameters.push_back(number_parameter(name, help, {.initial = value, .minimum = minimum, .maximum = maximum}));
  }
  void boolean(const char* name, const char* help, bool value) {
    parameters.push_back(boolean_parameter(name, help, value));
  }
  template <typename T, std::size_t N>
  void choice(const char* name, const char* help, T value, const std::array<Choice<T>, N>& choices) {
    std::vector<std::string> names;
    for (const Choice<T>& one : choices) names.emplace_back(one.name);
    parameters.push_back(choice_parameter(name, help, std::move(names)));
    parameters.back().initial = std::string(std::ranges::find(choices, value, &Choice<T>::value)->name);
  }
  void span(const char* name, const char* help, const std::optional<SoftSpan>& value) {
    const SoftSpan shown = value.value_or(SoftSpan{});
    Describe fields;
    fields.integer("max_span", "largest reach; 0 = none is learned", shown.max_span, 0, max_span);
    fields.integer("ramp", "over how many tokens the reach runs out", shown.ramp, 1, max_span);
    parameters.push_back(object_parameter(name, help, std::move(fields.parameters)));
  }
  void policy(ActivationPolicy value) {
    choice("activations", "what layers keep for backward; the rest is computed again", value, policies);
    parameters.push_back({.name = old_checkpoint_key,
                          .type = ParameterType::boolean,
                          .help = "older name: true is activations = checkpoint_layers"});
    parameters.push_back({.name = old_saved_key,
                          .type = ParameterType::choice,
                          .help = "older name: all is activations = save_all, few recompute_cheap",
                          .choices = {"automatic", "all", "few"}});
  }
  static constexpr std::int64_t max_span = std::int64_t{1} << 25;
};

/// Takes values out of checked settings; what these do not know keeps its value.
struct Read {
  const Settings& settings;

  bool knows(const char* name) const { return settings.values().contains(name); }

  void integer(const char* name, const char*, std::int64_t& value, std::int64_t, std::int64_t) {
    if (knows(name)) value = settings.integer(name);
  }
  void width(const char* name, const char*, std::int64_t& value, std::int64_t) {
    if (knows(name)) value = settings.integer(name);
  }
  void optional_width(const char* name, const char*, std::int64_t& value, std::int64_t) {
    if (knows(name)) value = settings.optional_integer(name).value_or(0);
  }
  void number(const char* name, const char*, double& value, double, double) {
    if (knows(name)) value = settings.number(name);
  }
  void boolean(const char* name, const char*, bool& value) {
    if (knows(name)) value = settings.boolean(name);
  }
  template <typename T, std::size_t N>
  void choice(const char* name, const char*, T& value, const std::array<Choice<T>, N>& choices) {
    if (knows(name)) value = std::ranges::find(choices, settings.string(name), &Choice<T>::name)->value;
  }
  void span(const char* name, const char*, std::optional<SoftSpan>& value) {
    if (!knows(name)) return;
    const Settings given = settings.object(name);
    value = SoftSpan{.max_span = given.integer("max_span"), .ramp = given.integer("ramp")};
    if (value->max_span == 0) value.reset();
  }
  /// An older key counts where "activations" leaves the choice open.
  void policy(ActivationPolicy& value) {
    choice("activations", "", value, policies);
    if (value != ActivationPolicy::automatic) return;
    if (knows(old_saved_key) && settings.has(old_saved_key)) {
      const std::string saved = settings.string(old_saved_key);
      if (saved == "all") value = ActivationPolicy::save_all;
      if (saved == "few") value = ActivationPolicy::recompute_cheap;
    }
    if (knows(old_checkpoint_key) && settings.has(old_checkpoint_key) && settings.boolean(old_checkpoint_key)) {
      value = ActivationPolicy::checkpoint_layers;
    }
  }
};

/// Writes values down.
struct Write {
  json values = json::object();

  void integer(const char* name, const char*, std::int64_t value, std::int64_t, std::int64_t) { values[name] = value; }
  void width(const char* name, const char*, std::int64_t value, std::int64_t) { values[name] = value; }
  void optional_width(const char* name, const char*, std::int64_t value, std::int64_t) {
    if (value > 0) values[name] = value;
  }
  void number(const char* name, const char*, double value, double, double) { values[name] = value; }
  void boolean(const char* name, const char*, bool value) { values[name] = value; }
  template <typename T, std::size_t N>
  void choice(const char* name, const char*, T value, const std::array<Choice<T>, N>& choices) {
    values[name] = std::ranges::find(choices, value, &Choice<T>::value)->name;
  }
  void span(const char* name, const char*, const std::optional<SoftSpan>& value) {
    if (value) values[name] = {{"max_span", value->max_span}, {"ramp", value->ramp}};
  }
  void policy(ActivationPolicy value) { choice("activations", "", value, policies); }
};

using Scale = GraphSelfAttentionOptions::Scale;
constexpr std::array<Choice<Scale>, 2> scales{{{"head_dim", Scale::head_dim}, {"dim", Scale::dim}}};
constexpr std::array<Choice<bool>, 2> norms{{{"post", false}, {"pre", true}}};
constexpr std::array<Choice<Activation>, 3> activations{
    {{"relu", Activation::relu}, {"gelu", Activation::gelu}, {"none", Activation::none}}};
constexpr std::array<Choice<Positions>, 5> position_kinds{{{"relations", Positions::relations},
                                                           {"sinusoidal", Positions::sinusoidal},
                                                           {"learned", Positions::learned},
                                                           {"both", Positions::both},
                                                           {"none", Positions::none}}};
constexpr std::array<Choice<RecurrentCellKind>, 4> recurrent_cells{{{"lstm", RecurrentCellKind::lstm},
                                                                    {"mlstm", RecurrentCellKind::mlstm},
                                                                    {"rhn", RecurrentCellKind::rhn},
                                                                    {"qrnn", RecurrentCellKind::qrnn}}};
constexpr std::int64_t max_width = 65536, max_hidden = 1 << 20, max_relations = 1 << 30;
constexpr double most_dropped = 0.999, any_number = 1e30;

template <typename T, typename Options>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Options>;

template <FieldsOf<LinearOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("in", "width of a row", options.in, max_hidden);
  visitor.width("out", "width of a row of the result", options.out, max_hidden);
  visitor.boolean("bias", "whether a bias is added", options.bias);
  visitor.choice("activation", "of the result", options.activation, activations);
  visitor.number("gain", "of the first weights", options.gain, 0, any_number);
}

template <FieldsOf<EmbeddingOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("count", "rows of the table", options.count, max_relations);
  visitor.width("dim", "width of a row", options.dim, max_width);
  visitor.number("standard_deviation", "of the first values; 0 = 1 / sqrt(dim)", options.standard_deviation, 0,
                 any_number);
  visitor.boolean("sparse_gradient", "only rows that were looked up carry a gradient", options.sparse_gradient);
}

template <FieldsOf<LayerNormOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("dim", "width of a row", options.dim, max_width);
  visitor.number("epsilon", "added to the variance", options.epsilon, 0, any_number);
}

template <FieldsOf<FeedForwardOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("dim", "width of a row", options.dim, max_width);
  visitor.width("hidden", "width of the hidden layer", options.hidden, max_hidden);
  visitor.choice("activation", "of the hidden layer", options.activation, activations);
  visitor.boolean("bias", "whether biases are added", options.bias);
  visitor.number("dropout", "share of the hidden layer set to zero", options.dropout, 0, most_dropped);
  visitor.number("output_gain", "of the first weights of the second projection", options.output_gain, 0, any_number);
}

template <FieldsOf<LearnedPositionsOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("max_length", "positions that have a vector", options.max_length, max_relations);
  visitor.width("dim", "width of a vector", options.dim, max_width);
  visitor.number("standard_deviation", "of the first values", options.standard_deviation, 0, any_number);
}

template <FieldsOf<InputLayerOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("dim", "width of a row", options.dim, max_width);
  visitor.integer("max_length", "longest sequence; only positions that are added need it", options.max_length, 0,
                  max_relations);
  visitor.choice(
      "positions",
      "how tokens know where they stand: relations of the graph; sinusoidal or learned vectors added to their "
      "inputs instead; both: relations and sinusoidal",
      options.positions, position_kinds);
  visitor.integer("block_positions",
                  "stride s of two trained tables added to the inputs, for i div s and i mod s; 0 = none",
                  options.block_positions, 0, max_relations);
  visitor.boolean("input_norm", "normalise the inputs of the first layer", options.norm);
  visitor.number("input_dropout", "share of the inputs of the first layer set to zero", options.dropout, 0,
                 most_dropped);
  visitor.number("norm_epsilon", "added to the variance by every normalisation", options.norm_epsilon, 0, any_number);
}

template <FieldsOf<GraphSelfAttentionOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("dim", "width of a node; a multiple of heads", options.dim, max_width);
  visitor.integer("heads", "heads of the attention", options.heads, 1, max_width);
  visitor.integer("num_relations", "rows of the table of relation keys; 0 = none", options.num_relations, 0,
                  max_relations);
  visitor.boolean("ignore_relations", "without a table, attend as if the graph had one relation",
                  options.ignore_relations);
  visitor.choice("scale", "scores are divided by the root of this", options.scale, scales);
  visitor.boolean("bias", "whether the projections have biases", options.bias);
  visitor.number("dropout", "share of the attention weights set to zero", options.dropout, 0, most_dropped);
  visitor.number("relation_deviation", "standard deviation of the first relation keys", options.relation_deviation, 0,
                 any_number);
  visitor.number("output_gain", "of the first weights of the output projection", options.output_gain, 0, any_number);
  visitor.span("soft_span", "each head learns how far it reaches", options.soft_span);
  visitor.number("initial_span", "share of the largest span where heads start", options.initial_span, 0.001, 0.999);
}

template <FieldsOf<GraphTransformerLayerOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("dim", "width of a node; a multiple of heads", options.dim, max_width);
  visitor.integer("heads", "heads of the attention", options.heads, 1, max_width);
  visitor.optional_width("ffn", "width of the hidden layer of the feed-forward part; default: four times dim",
                         options.feed_forward, max_hidden);
  visitor.integer("num_relations", "rows of the table of relation keys; 0 = none", options.num_relations, 0,
                  max_relations);
  visitor.boolean("ignore_relations", "without a table, attend as if the graph had one relation",
                  options.ignore_relations);
  visitor.choice("norm", "normalise each sum (post) or what goes into each part (pre)", options.pre_norm, norms);
  visitor.number("norm_epsilon", "added to the variance by every normalisation", options.norm_epsilon, 0, any_number);
  visitor.choice("activation", "of the feed-forward part", options.activation, activations);
  visitor.boolean("attention_bias", "whether the projections of the attention have biases", options.attention_bias);
  visitor.boolean("bias", "whether the feed-forward part has biases", options.feed_forward_bias);
  visitor.number("dropout", "share set to zero in the results of attention and feed-forward", options.dropout, 0,
                 most_dropped);
  visitor.number("attention_dropout", "share of the attention weights set to zero", options.attention_dropout, 0,
                 most_dropped);
  visitor.choice("scale", "scores are divided by the root of this", options.scale, scales);
  visitor.number("relation_deviation", "standard deviation of the first relation keys", options.relation_deviation, 0,
                 any_number);
  visitor.number("output_gain", "of the first weights of each part's last projection", options.output_gain, 0,
                 any_number);
  visitor.span("soft_span", "each head learns how far it reaches", options.soft_span);
  visitor.number("initial_span", "share of the largest span where heads start", options.initial_span, 0.001, 0.999);
}

template <FieldsOf<GraphTransformerOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.integer("layers", "layers of graph attention", options.layers, 1, 10000);
  visit_fields(options.layer, visitor);
  visitor.integer("stages", "of the graph; each has its own parameters in every layer", options.stages, 1, 100);
  visitor.boolean("trained_start", "nodes that are no tokens start from a trained vector", options.trained_start);
  visitor.policy(options.activations);
}

template <FieldsOf<GraphTransformerDecoderOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.integer("layers", "layers of graph attention", options.layers, 1, 10000);
  visit_fields(options.layer, visitor);
  visitor.integer("num_cross_relations", "rows of the table of relation keys to the encoder; 0 or 1 = none",
                  options.num_cross_relations, 0, max_relations);
  visitor.policy(options.activations);
}

template <FieldsOf<GatLayerOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("in", "width of a node", options.in, max_hidden);
  visitor.width("out", "width of one head's result", options.out, max_hidden);
  visitor.integer("heads", "heads of the attention", options.heads, 1, max_width);
  visitor.boolean("concatenate", "heads side by side instead of their mean", options.concatenate);
  visitor.boolean("bias", "whether a bias is added", options.bias);
  visitor.number("slope", "of the leaky relu below zero", options.slope, 0, any_number);
  visitor.number("dropout", "share of the attention weights set to zero", options.dropout, 0, most_dropped);
}

template <FieldsOf<RecurrentStackOptions> T>
void visit_fields(T& options, auto& visitor) {
  visitor.width("in", "width of a node's input", options.in, max_hidden);
  visitor.width("dim", "width of the state of a node, in each direction", options.dim, max_width);
  visitor.integer("layers", "recurrent layers", options.layers, 1, 10000);
  visitor.choice("cell",
                 "recurrent cell: LSTM, multiplicative LSTM, recurrent highway network, quasi-recurrent network",
                 options.cell, recurrent_cells);
  visitor.boolean("bidirectional", "each layer also runs against the edges", options.bidirectional);
  visitor.integer("depth", "highway layers that rhn has at each node", options.depth, 1, 1000);
  visitor.integer("child_positions", "predecessors that lstm tells apart, by the types of edges; 0 = it sums over all",
                  options.positions, 0, 1000);
  visitor.number("dropout", "share set to zero in the results of all layers but the last", options.dropout, 0,
                 most_dropped);
}

template <typename Options>
std::vector<Parameter> described(const Options& defaults) {
  Describe describe;
  visit_fields(defaults, describe);
  return std::move(describe.parameters);
}

template <typename Options>
void read(const Settings& settings, Options& options) {
  Read reading{settings};
  visit_fields(options, reading);
}

template <typename Options>
json written(const Options& options) {
  Write write;
  visit_fields(options, write);
  return std::move(write.values);
}

void require_divisible(const Settings& settings, std::int64_t dim, std::int64_t heads) {
  if (dim % heads != 0) {
    throw ConfigError(settings.where(),
                      fmt::format("dim must be a multiple of heads, {} is not one of {}", dim, heads));
  }
}

void finish(const Settings& settings, GraphTransformerLayerOptions& options) {
  require_divisible(settings, options.dim, options.heads);
  if (options.feed_forward == 0) options.feed_forward = 4 * options.dim;
}

}  // namespace

std::vector<Parameter> parameters_of(const LinearOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const EmbeddingOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const LayerNormOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const FeedForwardOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const LearnedPositionsOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const InputLayerOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const GraphSelfAttentionOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const GraphTransformerLayerOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const GraphTransformerOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const GraphTransformerDecoderOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const GatLayerOptions& defaults) { return described(defaults); }
std::vector<Parameter> parameters_of(const RecurrentStackOptions& defaults) { return described(defaults); }

void read_options(const Settings& settings, LinearOptions& options) { read(settings, options); }
void read_options(const Settings& settings, EmbeddingOptions& options) { read(settings, options); }
void read_options(const Settings& settings, LayerNormOptions& options) { read(settings, options); }
void read_options(const Settings& settings, FeedForwardOptions& options) { read(settings, options); }
void read_options(const Settings& settings, LearnedPositionsOptions& options) { read(settings, options); }
void read_options(const Settings& settings, InputLayerOptions& options) { read(settings, options); }

void read_options(const Settings& settings, GraphSelfAttentionOptions& options) {
  read(settings, options);
  require_divisible(settings, options.dim, options.heads);
}

void read_options(const Settings& settings, GraphTransformerLayerOptions& options) {
  read(settings, options);
  finish(settings, options);
}

void read_options(const Settings& settings, GraphTransformerOptions& options) {
  read(settings, options);
  finish(settings, options.layer);
}

void read_options(const Settings& settings, GraphTransformerDecoderOptions& options) {
  read(settings, options);
  finish(settings, options.layer);
}

void read_options(const Settings& settings, GatLayerOptions& options) { read(settings, options); }
void read_options(const Settings& settings, RecurrentStackOptions& options) { read(settings, options); }

json to_json(const LinearOptions& options) { return written(options); }
json to_json(const EmbeddingOptions& options) { return written(options); }
json to_json(const LayerNormOptions& options) { return written(options); }
json to_json(const FeedForwardOptions& options) { return written(options); }
json to_json(const LearnedPositionsOptions& options) { return written(options); }
json to_json(const InputLayerOptions& options) { return written(options); }
json to_json(const GraphSelfAttentionOptions& options) { return written(options); }
json to_json(const GraphTransformerLayerOptions& options) { return written(options); }
json to_json(const GraphTransformerOptions& options) { return written(options); }
json to_json(const GraphTransformerDecoderOptions& options) { return written(options); }
json to_json(const GatLayerOptions& options) { return written(options); }
json to_json(const RecurrentStackOptions& options) { return written(options); }

}  // namespace bough::nn
