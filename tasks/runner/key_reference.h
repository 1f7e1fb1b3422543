#pragma once

#include <string>

namespace bough::runner {

/// Every key of experiments with what it means, what is allowed and its default: a page of Markdown, made from the
/// tables that check experiments. docs/experiments.md is this page.
std::string key_reference();

}  // namespace bough::runner
