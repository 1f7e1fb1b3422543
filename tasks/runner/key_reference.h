#pragma once

#include <string>

#include "bough/graph/graph_generator.h"

namespace bough::runner {

/// Every key of experiments with what it means, what is allowed and its default: a page of Markdown, made from the
/// tables that check experiments. docs/experiments.md is this page.
std::string key_reference();

/// What a specification of the pattern may have beside its kind, length and causality: its parameters and, if one of
/// them can be solved for it, the wanted attention degree.
ParameterTable specification_keys(const GeneratorDescription& generator);

}  // namespace bough::runner
