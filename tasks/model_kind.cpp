#include "tasks/model_kind.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bough/core/errors.h"
#include "bough/nn/options_json.h"

namespace bough::tasks {
namespace {

constexpr const char *graph_transformer = "graph_transformer", *recurrent = "recurrent";
constexpr const char *along_graph = "graph", *child_sum_tree = "child_sum_tree", *binary_tree = "binary_tree";

std::set<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::set<std::string> names;
  for (const Parameter& parameter : parameters) names.insert(parameter.name);
  return names;
}

bool is_at_default(const Settings& settings, const Parameter& parameter) {
  const auto given = settings.values().find(parameter.name);
  if (given == settings.values().end() || given->is_null()) return true;
  const auto equals = [&](const auto& initial) {
    if constexpr (std::is_same_v<std::decay_t<decltype(initial)>, std::monostate>)
      return false;
    else
      return *given == nlohmann::json(initial);
  };
  return std::visit(equals, parameter.initial);
}

}  // namespace

std::vector<Parameter> model_kind_parameters() {
  std::vector<Parameter> parameters = {
      choice_parameter("kind",
                       "layers of graph attention; or recurrent: cells along a graph without cycles, such as chain, "
                       "with layers, dim and dropout between layers",
                       {graph_transformer, recurrent})};
  const std::set<std::string> own{"cell", "bidirectional", "depth"};
  for (Parameter& parameter : nn::parameters_of(nn::RecurrentStackOptions{})) {
    if (own.contains(parameter.name)) parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Parameter along_parameter() {
  return choice_parameter(
      "along",
      "of a recurrent model: graph, or the phrase trees of sst5 and sst2, from words to the sentence, which take the "
      "place of \"graph\": \"chain\". With trees it is a Tree-LSTM, child_sum_tree for phrases of any number of parts "
      "or binary_tree with weights of its own for each of two; task.phrases trains on all labelled nodes of a tree at "
      "once, and scores are those of the roots",
      {along_graph, child_sum_tree, binary_tree});
}

bool runs_along_trees(const Settings& model) {
  return model.values().contains("along") && model.string("along") != along_graph;
}

bool is_recurrent(const Settings& model) {
  return model.values().contains("kind") && model.string("kind") == recurrent;
}

nn::RecurrentStackOptions recurrent_options(const Settings& model) {
  nn::RecurrentStackOptions options;
  nn::read_options(model, options);
  options.in = options.dim;
  if (runs_along_trees(model) && model.string("along") == binary_tree) options.positions = 2;
  return options;
}

void check_model_kind(const Settings& model, const std::vector<Parameter>& parameters) {
  const std::set<std::string> of_transformer = names_of(nn::parameters_of(nn::GraphTransformerOptions{})),
                              of_recurrent = names_of(nn::parameters_of(nn::RecurrentStackOptions{}));
  const auto& own = is_recurrent(model) ? of_recurrent : of_transformer;
  const auto& other = is_recurrent(model) ? of_transformer : of_recurrent;
  for (const Parameter& parameter : parameters) {
    if (own.contains(parameter.name) || !other.contains(parameter.name) || is_at_default(model, parameter)) continue;
    const auto [here, there] =
        is_recurrent(model) ? std::pair(recurrent, graph_transformer) : std::pair(graph_transformer, recurrent);
    throw ConfigError(model.where(), fmt::format("{} is a key of kind \"{}\", and this model is of kind \"{}\"; leave "
                                                 "it out, or choose the other kind",
                                                 parameter.name, there, here));
  }
  if (runs_along_trees(model) && (!is_recurrent(model) || model.string("cell") != "lstm")) {
    throw ConfigError(
        model.where(),
        fmt::format("along = {} is a Tree-LSTM, and this is {}; set kind to \"{}\" and cell to \"lstm\", "
                    "or leave along out",
                    model.string("along"),
                    is_recurrent(model) ? "the cell " + model.string("cell") : "a graph transformer", recurrent));
  }
  if (!is_recurrent(model)) return;
  const std::int64_t depth = model.integer("depth");
  if (depth != 1 && model.string("cell") != "rhn") {
    throw ConfigError(model.where(), fmt::format("depth = {} is for the cell rhn, not for {}; leave it out", depth,
                                                 model.string("cell")));
  }
}

}  // namespace bough::tasks
