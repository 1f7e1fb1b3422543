#include "tasks/transformer_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/core/errors.h"
#include "bough/nn/options_json.h"
#include "tasks/machine.h"
#include "tasks/model_kind.h"

namespace bough::tasks {

nn::GraphTransformerOptions default_transformer() {
  return {.layers = 4, .layer = {.dim = 128, .heads = 4, .pre_norm = true, .dropout = 0.1}};
}

std::vector<Parameter> transformer_parameters() {
  std::vector<Parameter> parameters = nn::parameters_of(default_transformer());
  // The graph decides the first four; the others follow from the rest.
  std::erase_if(parameters, [](const Parameter& parameter) {
    const std::set<std::string> decided{"num_relations", "ignore_relations", "stages",
                                        "soft_span",     "trained_start",    "output_gain"};
    return decided.contains(parameter.name);
  });
  for (Parameter& parameter : nn::parameters_of(nn::InputLayerOptions{})) {
    const std::set<std::string> known{"dim", "max_length", "norm_epsilon"};
    if (!known.contains(parameter.name)) parameters.push_back(std::move(parameter));
  }
  parameters.push_back(number_parameter("output_dropout",
                                        "share set to zero in the rows that the output projection reads",
                                        {.initial = 0.0, .minimum = 0, .maximum = 0.999}));
  return parameters;
}

void check_transformer(const Settings& model) {
  const std::int64_t dim = model.integer("dim"), heads = model.integer("heads");
  if (dim % heads == 0) return;
  throw ConfigError("model", fmt::format("dim must be a multiple of heads, {} is not one of {}", dim, heads));
}

nn::InputLayerOptions input_layer_options(const Settings& model, std::int64_t max_length) {
  nn::InputLayerOptions input{.max_length = max_length};
  nn::read_options(model, input);
  return input;
}

nn::GraphTransformerOptions transformer_options(const Settings& model, const GraphGenerator& generator,
                                                std::int64_t max_length) {
  nn::GraphTransformerOptions options = default_transformer();
  nn::read_options(model, options);
  options.layer.ignore_relations = !nn::uses_relations(input_layer_options(model, max_length).positions);
  options = nn::GraphTransformerOptions::for_graph(generator, max_length, options);
  if (options.layer.pre_norm) options.layer.output_gain = 1 / std::sqrt(2.0 * static_cast<double>(options.layers));
  return options;
}

double layer_operations(const nn::GraphTransformerLayerOptions& layer, double nodes, double edges) {
  const double dim = static_cast<double>(layer.dim), hidden = static_cast<double>(layer.feed_forward);
  // Two operations for each multiplication with a weight.
  return 2 * (nodes * (4 * dim * dim + 2 * dim * hidden) + 3 * edges * dim);
}

namespace {

/// About how many parameters a layer has.
double parameters_of_layer(const Settings& model) {
  if (is_recurrent(model)) {
    const nn::RecurrentStackOptions options = recurrent_options(model);
    const auto dim = static_cast<double>(options.dim);
    return dim * dim * (options.cell == nn::RecurrentCellKind::rhn ? 2 + 2 * static_cast<double>(options.depth) : 8);
  }
  nn::GraphTransformerOptions options = default_transformer();
  nn::read_options(model, options);
  const double dim = static_cast<double>(options.layer.dim), hidden = static_cast<double>(options.layer.feed_forward);
  return dim * (4 * dim + 2 * hidden);
}

}  // namespace

void require_memory_for(const Settings& model, Device device) {
  const auto free_bytes = device == Device::cpu() ? available_memory() : std::nullopt;
  if (!free_bytes) return;
  const std::int64_t layers = model.integer("layers"), width = model.integer("dim");
  const double parameters = static_cast<double>(layers) * parameters_of_layer(model);
  const double bytes = 16 * parameters;  // each with its gradient and two moments
  if (bytes < static_cast<double>(*free_bytes)) return;
  throw ConfigError("model",
                    fmt::format("{} layers of width {} have about {:.3g} parameters, which need {:.0f} GB to "
                                "train; {:.1f} GB of memory are free",
                                layers, width, parameters, bytes / 1e9, static_cast<double>(*free_bytes) / 1e9));
}

}  // namespace bough::tasks
