#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bough/core/config.h"

/// "references": published figures of other systems, which reports show beside those that were measured.
namespace bough::runner {

/// What someone else has published of the metric; nothing here has measured it.
struct Reference {
  std::string name;
  double value = 0;
  std::string source = {};  ///< where it stands: "McCann et al. 2017"
  bool operator==(const Reference&) const = default;
};

/// The key of an experiment.
Parameter references_parameter();
/// Those of an experiment that its table of keys has let through. ConfigError for one without a name, and for two of
/// one name.
std::vector<Reference> references_of(const nlohmann::json& source);

nlohmann::ordered_json to_json(const Reference& reference);
/// As to_json has written it.
Reference reference_from(const nlohmann::json& entry);

}  // namespace bough::runner
