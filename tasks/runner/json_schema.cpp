#include "tasks/runner/json_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "tasks/registry.h"
#include "tasks/runner/experiment.h"

namespace bough::runner {
namespace {

using nlohmann::json;

json schema_of(const Parameter& parameter) {
  json schema;
  switch (parameter.type) {
    case ParameterType::integer:
      schema = {{"type", "integer"}, {"minimum", parameter.smallest}, {"maximum", parameter.largest}};
      break;
    case ParameterType::number:
      schema = {{"type", "number"}};
      if (std::isfinite(parameter.minimum)) schema["minimum"] = parameter.minimum;
      if (std::isfinite(parameter.maximum)) schema["maximum"] = parameter.maximum;
      break;
    case ParameterType::boolean:
      schema = {{"type", "boolean"}};
      break;
    case ParameterType::string:
      schema = {{"type", "string"}};
      break;
    case ParameterType::choice:
      schema = {{"enum", parameter.choices}};
      break;
    case ParameterType::list:
      schema = {{"type", "array"}, {"minItems", parameter.smallest}};
      if (!parameter.items.empty()) schema["items"] = schema_of(parameter.items.front());
      break;
    case ParameterType::object:
      schema = parameter.fields.empty() ? json{{"type", "object"}} : json_schema(ParameterTable(parameter.fields));
      break;
  }
  if (!parameter.help.empty()) schema["description"] = parameter.help;
  std::visit(
      [&schema]<typename T>(const T& value) {
        if constexpr (!std::is_same_v<T, std::monostate>) schema["default"] = value;
      },
      parameter.initial);
  return schema;
}

/// {"kind": ..., parameters} for each pattern, or its bare name.
json graph_schema() {
  json kinds = json::array();
  json names = json::array();
  for (const GeneratorDescription& generator : generators().list()) {
    json schema = json_schema(generator.parameters);
    schema["title"] = generator.name;
    schema["description"] = generator.summary;
    schema["properties"]["kind"] = {{"const", generator.name}};
    schema["required"].push_back("kind");
    kinds.push_back(schema);
    names.push_back(generator.name);
  }
  kinds.push_back({{"enum", names}});
  return {{"description", "the attention pattern; bough generators lists them"}, {"oneOf", kinds}};
}

json schemas_of(const std::vector<tasks::ObjectKind>& kinds) {
  json schemas = json::array();
  for (const tasks::ObjectKind& kind : kinds) {
    json schema = json_schema(kind.parameters);
    schema["title"] = kind.name;
    schema["description"] = kind.summary;
    schema["properties"]["kind"] = {{"const", kind.name}};
    schemas.push_back(schema);
  }
  return schemas;
}

}  // namespace

json json_schema(const ParameterTable& table) {
  json schema = {
      {"type", "object"}, {"properties", json::object()}, {"required", json::array()}, {"additionalProperties", false}};
  for (const Parameter& parameter : table.parameters()) {
    schema["properties"][parameter.name] = schema_of(parameter);
    if (parameter.required) schema["required"].push_back(parameter.name);
  }
  return schema;
}

json experiment_schema() {
  json variants = json::array();
  for (const tasks::Task* task : tasks::all_tasks()) {
    json schema = json_schema(experiment_parameters(*task));
    json& properties = schema["properties"];
    for (const auto& [name, kinds] : task->object_kinds()) {
      properties["task"]["properties"][name]["oneOf"] = schemas_of(kinds);
    }
    properties["graph"] = graph_schema();
    properties["sweep"]["additionalProperties"] = {{"type", "array"}, {"minItems", 1}};
    schema["title"] = task->name();
    variants.push_back(schema);
  }
  json result = variants.size() == 1 ? variants.front() : json{{"oneOf", variants}};
  result["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  result["title"] = "bough experiment";
  return result;
}

}  // namespace bough::runner
