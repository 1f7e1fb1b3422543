#include "tasks/runner/references.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"

namespace bough::runner {

using nlohmann::json;

Parameter references_parameter() {
  NumberLimits value;
  value.required = true;
  return list_parameter("references",
                        "published figures of other systems, shown in plots and tables as cited, not measured: "
                        "{\"name\", \"value\" of the metric, \"source\"}",
                        object_parameter("reference", "",
                                         {string_parameter("name", "of the system"),
                                          number_parameter("value", "that was published of it, of the metric", value),
                                          string_parameter("source", "where it was published", "")}));
}

std::vector<Reference> references_of(const json& source) {
  std::vector<Reference> result;
  const json given = source.value("references", json());
  if (!given.is_array()) return result;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Reference reference = reference_from(given[i]);
    const std::string place = fmt::format("references[{}]", i);
    if (reference.name.empty()) throw ConfigError(place, "name is empty; it stands beside the line of the figure");
    const auto same = std::ranges::find(result, reference.name, &Reference::name);
    if (same != result.end()) {
      throw ConfigError(place, fmt::format("'{}' is named twice, with {} and {}; give each figure a name of its own",
                                           reference.name, same->value, reference.value));
    }
    result.push_back(std::move(reference));
  }
  return result;
}

nlohmann::ordered_json to_json(const Reference& reference) {
  return {{"name", reference.name}, {"value", reference.value}, {"source", reference.source}};
}

Reference reference_from(const json& entry) {
  const json source = entry.value("source", json());
  return {.name = entry.at("name"),
          .value = entry.at("value"),
          .source = source.is_string() ? source.get<std::string>() : ""};
}

}  // namespace bough::runner
