#include "tasks/runner/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/graph/graph_generator.h"
#include "graph/generators/wanted_degree.h"
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
  // null is "not given" where there is no default.
  const bool nullable = !parameter.required && std::holds_alternative<std::monostate>(parameter.initial);
  if (nullable && schema.contains("type")) schema["type"] = {schema["type"], "null"};
  if (!parameter.help.empty()) schema["description"] = parameter.help;
  std::visit(
      [&schema]<typename T>(const T& value) {
        if constexpr (!std::is_same_v<T, std::monostate>) schema["default"] = value;
      },
      parameter.initial);
  return schema;
}

/// An object whose keys depend on its "kind". Each kind is a condition of its own, so that what a checker says is about
/// the kind that was given, not about all of them. Without "kind" the first one is meant if `has_default`.
json object_by_kind(const std::vector<std::pair<std::string, json>>& kinds, bool has_default) {
  json names = json::array(), conditions = json::array();
  for (const auto& [name, schema] : kinds) {
    names.push_back(name);
    json condition = {{"properties", {{"kind", {{"const", name}}}}}};
    if (!has_default || !conditions.empty()) condition["required"] = {"kind"};
    json keys = schema;
    keys["properties"]["kind"] = true;
    conditions.push_back({{"if", condition}, {"then", keys}});
  }
  json result = {{"type", "object"},
                 {"properties", {{"kind", {{"enum", names}, {"description", "which one; its keys follow from it"}}}}},
                 {"allOf", conditions}};
  if (!has_default) result["required"] = {"kind"};
  return result;
}

json degree_schema(const std::string& parameter) {
  return {{"type", "number"},
          {"exclusiveMinimum", 0},
          {"description", "the attention degree to have; " + parameter + " is solved for it"}};
}

json schema_of(const GeneratorDescription& generator) {
  // One that reads its JSON itself takes what it likes.
  json schema = generator.parameters.parameters().empty() && generator.summary.empty()
                    ? json::object()
                    : json_schema(generator.parameters);
  schema["title"] = generator.name;
  schema["description"] = generator.summary;
  // Patterns within a pattern are graphs again.
  for (const Parameter& parameter : generator.parameters.parameters()) {
    if (parameter.name != "of") continue;
    const json graph = {{"$ref", "#/$defs/graph"}};
    if (parameter.type == ParameterType::list) schema["properties"]["of"]["items"] = graph;
    if (parameter.type == ParameterType::object) schema["properties"]["of"] = graph;
  }
  if (const std::string solved = degree_parameter(generator); solved == "of") {
    schema["properties"]["degree"] = degree_schema("a parameter of the pattern in of");
  } else if (!solved.empty()) {
    schema["properties"]["degree"] = degree_schema(solved);
    schema["not"] = {{"required", {"degree", solved}}};  // one or the other
  }
  return schema;
}

/// {"kind": ..., parameters} for each pattern, or its bare name.
json graph_schema() {
  std::vector<std::pair<std::string, json>> kinds;
  json names = json::array();
  for (const GeneratorDescription& generator : generators().list()) {
    kinds.emplace_back(generator.name, schema_of(generator));
    names.push_back(generator.name);
  }
  return {{"description", "the attention pattern; bough generators lists them"},
          {"type", {"object", "string"}},
          {"if", {{"type", "string"}}},
          {"then", {{"enum", names}}},
          {"else", object_by_kind(kinds, false)}};
}

json schema_by_kind(const std::vector<tasks::ObjectKind>& kinds) {
  std::vector<std::pair<std::string, json>> schemas;
  for (const tasks::ObjectKind& kind : kinds) {
    json schema = json_schema(kind.parameters);
    schema["title"] = kind.name;
    schema["description"] = kind.summary;
    schemas.emplace_back(kind.name, schema);
  }
  return object_by_kind(schemas, true);
}

/// The schemas of all dotted paths that a sweep may set. A path that means different things for different kinds takes
/// what any of them takes.
class SweepPaths {
 public:
  void add(const std::string& path, const json& schema) {
    std::vector<json>& known = schemas_[path];
    if (std::ranges::find(known, schema) == known.end()) known.push_back(schema);
    const auto inside = schema.find("properties");
    if (inside != schema.end()) add_all(path, *inside);
    if (!schema.contains("allOf")) return;
    for (const json& condition : schema["allOf"]) add_all(path, condition["then"]["properties"]);
  }

  /// Any of the paths, each with a list of values.
  json lists() const {
    json properties = json::object();
    for (const auto& [path, schemas] : schemas_) {
      json items = schemas.size() == 1 ? schemas.front() : json{{"anyOf", schemas}};
      properties[path] = {{"type", "array"}, {"minItems", 1}, {"items", std::move(items)}};
    }
    return {{"type", "object"}, {"properties", properties}};
  }

 private:
  void add_all(const std::string& path, const json& properties) {
    for (const auto& [name, schema] : properties.items()) {
      if (schema.is_object()) add(path + "." + name, schema);
    }
  }

  std::map<std::string, std::vector<json>> schemas_;
};

/// A sweep of lists that `definition` describes, some of them zipped.
json sweep_schema(const std::string& definition) {
  const json reference = {{"$ref", "#/$defs/" + definition}};
  json zip = reference, sweep = reference;
  zip["unevaluatedProperties"] = false;
  zip["minProperties"] = 1;
  sweep["description"] = "dotted path -> list of values; every combination is one run";
  sweep["properties"][zip_key] = {
      {"description", "lists of equal length that are walked through together; several zips in a list"},
      {"type", {"object", "array"}},
      {"if", {{"type", "array"}}},
      {"then", {{"items", zip}}},
      {"else", zip}};
  sweep["unevaluatedProperties"] = false;
  return sweep;
}

/// Experiments that need no "graph" beside the sweep.
json sweeps_the_graph() {
  const json has_graph = {{"required", {"graph"}}};
  const auto zips = [](const json& schema) {
    return json{{"properties", {{zip_key, schema}}}, {"required", {zip_key}}};
  };
  return {{"properties",
           {{"sweep",
             {{"anyOf",
               {has_graph, zips({{"type", "object"}, {"required", {"graph"}}}),
                zips({{"type", "array"}, {"contains", has_graph}})}}}}}},
          {"required", {"sweep"}}};
}

/// The same value, or null, which takes away what was there.
void allow_null(json& schema) {
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (!type->is_array()) *type = json::array({*type});
    if (std::ranges::find(*type, json("null")) == type->end()) type->push_back("null");
  }
  if (const auto choices = schema.find("enum"); choices != schema.end()) choices->push_back(nullptr);
}

/// What an experiment that extends another one may say: nothing is required, and null takes a key away. Lists and
/// sweeps are given as a whole.
json schema_of_changes(json schema) {
  schema.erase("required");
  schema.erase("not");
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    for (auto& [name, property] : properties->items()) {
      if (!property.is_object() || name == "extends") continue;
      if (name == "graph" && property.contains("$ref")) {
        property["$ref"] = "#/$defs/graph_changes";
      } else if (name != "sweep") {
        property = schema_of_changes(std::move(property));
      }
      allow_null(property);
    }
  }
  if (const auto kinds = schema.find("allOf"); kinds != schema.end()) {
    for (json& kind : *kinds) kind["then"] = schema_of_changes(kind["then"]);
  }
  if (schema.contains("else")) schema["else"] = schema_of_changes(schema["else"]);
  return schema;
}

/// Schemas of all parameters of all patterns, by name.
std::vector<std::pair<std::string, json>> graph_paths(const json& graph) {
  std::vector<std::pair<std::string, json>> result = {{"kind", graph["else"]["properties"]["kind"]}};
  for (const json& condition : graph["else"]["allOf"]) {
    if (!condition["then"].contains("properties")) continue;
    for (const auto& [name, schema] : condition["then"]["properties"].items()) {
      if (schema.is_object()) result.emplace_back(name, schema);
    }
  }
  return result;
}

/// Of experiments with this task; the lists of its sweeps are added to the definitions.
json schema_of(const tasks::Task& task, const json& graph, json& definitions) {
  json schema = json_schema(experiment_parameters(task));
  json& properties = schema["properties"];
  for (const auto& [name, kinds] : task.object_kinds()) {
    const json description = properties["task"]["properties"][name]["description"];
    properties["task"]["properties"][name] = schema_by_kind(kinds);
    properties["task"]["properties"][name]["description"] = description;
  }
  SweepPaths paths;
  for (const auto& [name, part] : properties.items()) {
    if (name == "task" || name == "model" || name == "train") paths.add(name, part);
  }
  paths.add("graph", {{"$ref", "#/$defs/graph"}});
  for (const auto& [name, parameter] : graph_paths(graph)) paths.add("graph." + name, parameter);
  properties["graph"] = {{"$ref", "#/$defs/graph"}};
  const std::string lists = "sweep_of_" + task.name();
  definitions[lists] = paths.lists();
  properties["sweep"] = sweep_schema(lists);
  // A graph that is swept need not be given beside the sweep.
  std::erase(schema["required"].get_ref<json::array_t&>(), json("graph"));
  json changes = schema_of_changes(schema);
  changes["properties"]["sweep"] = {{"if", {{"type", "null"}}}, {"else", properties["sweep"]}};
  schema["if"] = sweeps_the_graph();
  schema["else"] = {{"required", {"graph"}}};
  schema = {{"if", {{"required", {"extends"}}}}, {"then", std::move(changes)}, {"else", std::move(schema)}};
  schema["type"] = "object";
  schema["title"] = task.name();
  return schema;
}

/// Whether an experiment has the task of this name: a condition, as in object_by_kind. The default is meant by those
/// that name none.
json has_task(const std::string& name, bool is_default) {
  json task = {{"properties", {{"kind", {{"const", name}}}}}};
  if (!is_default) task["required"] = {"kind"};
  json condition = {{"properties", {{"task", task}}}};
  if (!is_default) condition["required"] = {"task"};
  return condition;
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

json experiment_schema() { return experiment_schema(tasks::all_tasks()); }

json experiment_schema(const std::vector<const tasks::Task*>& tasks) {
  const json graph = graph_schema();
  json names = json::array(), conditions = json::array();
  json definitions = {{"graph", graph}, {"graph_changes", schema_of_changes(graph)}};
  for (const tasks::Task* task : tasks) {
    conditions.push_back(
        {{"if", has_task(task->name(), names.empty())}, {"then", schema_of(*task, graph, definitions)}});
    names.push_back(task->name());
  }
  json result = {{"type", "object"},
                 {"properties", {{"task", {{"properties", {{"kind", {{"enum", names}}}}}}}}},
                 {"allOf", conditions}};
  if (tasks.size() == 1) result = conditions[0]["then"];
  result["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  result["title"] = "bough experiment";
  result["$defs"] = std::move(definitions);
  return result;
}

}  // namespace bough::runner
