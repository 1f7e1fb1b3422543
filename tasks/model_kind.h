#pragma once

#include <vector>

#include "bough/core/config.h"
#include "bough/nn/recurrent_stack.h"

/// Which layers a model has, for tasks that offer both: graph attention, or recurrent cells along the graph.
namespace bough::tasks {

/// Keys of "model" that a task adds to those of a graph transformer: kind, and what only recurrent layers have (cell,
/// bidirectional, depth). They share layers, dim and dropout with it.
std::vector<Parameter> model_kind_parameters();

/// Settings of before there was a choice have no kind and mean a graph transformer.
bool is_recurrent(const Settings& model);

/// "along", for tasks whose texts may have trees: what a recurrent model runs along.
Parameter along_parameter();

/// Whether a model runs along the trees of its texts instead of the graph. Settings without the key mean the graph.
bool runs_along_trees(const Settings& model);

/// Of a recurrent model. The first layer reads rows of width dim.
nn::RecurrentStackOptions recurrent_options(const Settings& model);

/// ConfigError for a key that has no meaning for this kind and is not at its default in `parameters`, the table that
/// the settings were read with; for a depth of cells that have none; and for trees unless an lstm runs along them.
void check_model_kind(const Settings& model, const std::vector<Parameter>& parameters);

}  // namespace bough::tasks
