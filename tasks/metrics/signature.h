#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bough/tasks/translation_scores.h"

namespace bough {

/// "nrefs:1|bs:1000|seed:12345|case:mixed|", what the metric adds ("eff:no|..."), and "|version:bough-0.1.0".
std::string metric_signature(std::int64_t num_references, const std::optional<BootstrapOptions>& bootstrap,
                             bool lowercase, std::string_view of_metric);

}  // namespace bough
