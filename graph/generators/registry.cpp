#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/graph_generator.h"
#include "graph/generators/checked_generator.h"
#include "graph/generators/patterns.h"
#include "graph/generators/wanted_degree.h"
#include "src/core/nearest_name.h"

namespace bough {

using nlohmann::json;

namespace {

const Parameter* parameter_called(const ParameterTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.parameters(), name, &Parameter::name);
  return found == table.parameters().end() ? nullptr : &*found;
}

/// Names stand in JSON, in file names of results and in lists on the command line (window:width=4,bpt).
void require_name(const std::string& name) {
  if (name.empty()) throw ConfigError("generators", "a generator needs a name");
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  if (std::ranges::all_of(name, allowed) && name.front() != '.' && name.front() != '-') return;
  throw ConfigError("generators",
                    fmt::format("a generator cannot be called {}; a name has letters, digits, '_', '-' and '.', and "
                                "begins with a letter, a digit or '_'",
                                json_excerpt(json(name))));
}

/// Keys that every graph has, so that `bough graph` would never show a parameter of this name to the pattern. The
/// length of "memory" is older than this rule.
void require_parameter_names(const GeneratorDescription& description) {
  if (description.name == "memory" && description.origin == "built in") return;
  for (const Parameter& parameter : description.parameters.parameters()) {
    for (const std::string_view taken : {"kind", "length", "causal"}) {
      if (parameter.name != taken) continue;
      throw ConfigError("generators", fmt::format("'{}' cannot have a parameter called '{}': every graph has this key; "
                                                  "choose another name",
                                                  description.name, taken));
    }
  }
}

/// What the search for a degree relies on.
void require_degree_rule(const GeneratorDescription& description) {
  const DegreeRule& rule = description.degree;
  if (rule.parameter.empty()) return;
  const auto refuse = [&](const std::string& reason) {
    throw ConfigError("generators", fmt::format("the degree of '{}' cannot follow from '{}': {}", description.name,
                                                rule.parameter, reason));
  };
  const auto find = [&](const std::string& name) { return parameter_called(description.parameters, name); };
  const Parameter* parameter = find(rule.parameter);
  if (find("degree") != nullptr) refuse("it has a parameter called degree");
  if (parameter == nullptr) return refuse("there is no such parameter");
  const bool bounded_number = parameter->type == ParameterType::number && std::isfinite(parameter->minimum) &&
                              std::isfinite(parameter->maximum);
  if (parameter->type != ParameterType::integer && !bounded_number) {
    refuse("it must be a whole number, or a number with a minimum and a maximum");
  }
  if (rule.companion.empty()) return;
  if (find(rule.companion) == nullptr || !rule.companion_value) {
    refuse(fmt::format("its companion '{}' must be a parameter and have a value for each length", rule.companion));
  }
}

/// The parameters of a pattern and the key "degree" where it has one, so that messages about keys name it.
ParameterTable with_degree(const GeneratorDescription& description) {
  if (degree_parameter(description).empty()) return description.parameters;
  std::vector<Parameter> parameters = description.parameters.parameters();
  parameters.push_back(number_parameter("degree", "the attention degree to have"));
  return ParameterTable(std::move(parameters));
}

/// Length and causality belong to the whole graph; the pattern in an experiment or within another has none.
void refuse_graph_keys(const std::string& name, const ParameterTable& table, const json& parameters) {
  if (!parameters.is_object()) return;
  for (const std::string key : {"length", "causal"}) {
    if (!parameters.contains(key) || parameter_called(table, key) != nullptr) continue;
    throw ConfigError(name, fmt::format("\"{}\" is no parameter of a pattern but belongs to the whole graph; in an "
                                        "experiment {}",
                                        key,
                                        key == "length" ? "task.length says how many tokens there are"
                                                        : "the task says whether graphs are causal"));
  }
}

/// A pattern within another may be written as its name alone, as a graph may.
json with_named_members(const ParameterTable& table, const json& parameters) {
  const Parameter* member = parameter_called(table, "of");
  if (!parameters.is_object() || member == nullptr || member->type != ParameterType::object) return parameters;
  json result = parameters;
  if (const auto of = result.find("of"); of != result.end() && of->is_string()) *of = {{"kind", *of}};
  return result;
}

}  // namespace

struct GeneratorRegistry::Entry {
  GeneratorDescription description;
  RegistryFactory make;
};

GeneratorRegistry::GeneratorRegistry() = default;
GeneratorRegistry::~GeneratorRegistry() = default;

GeneratorRegistry::GeneratorRegistry(const GeneratorRegistry& other) {
  const std::lock_guard lock(other.mutex_);
  entries_ = other.entries_;
  origin_ = other.origin_;
}

GeneratorRegistry& GeneratorRegistry::operator=(const GeneratorRegistry& other) {
  if (this == &other) return *this;
  const std::scoped_lock lock(mutex_, other.mutex_);
  entries_ = other.entries_;
  origin_ = other.origin_;
  return *this;
}

void GeneratorRegistry::require_interface(int version) {
  if (version == generator_interface_version) return;
  throw ConfigError("generators",
                    fmt::format("built against version {} of the generator interface, but this is version "
                                "{}; build it anew",
                                version, generator_interface_version));
}

std::int64_t GeneratorRegistry::take(const GeneratorRegistry& other, const std::string& origin) {
  std::vector<std::shared_ptr<const Entry>> added;
  {
    const std::lock_guard lock(other.mutex_);
    std::ranges::copy_if(other.entries_, std::back_inserter(added),
                         [&](const auto& entry) { return entry->description.origin == origin; });
  }
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Entry>> all = entries_;
  for (const auto& entry : added) insert(all, entry);
  entries_ = std::move(all);
  return static_cast<std::int64_t>(added.size());
}

void GeneratorRegistry::insert(std::vector<std::shared_ptr<const Entry>>& entries, std::shared_ptr<const Entry> entry) {
  const std::string& name = entry->description.name;
  const auto place = std::ranges::lower_bound(
      entries, name, {}, [](const auto& other) -> auto& { return other->description.name; });
  if (place != entries.end() && (*place)->description.name == name) {
    throw ConfigError("generators",
                      fmt::format("there is already a generator called '{}' ({})", name, (*place)->description.origin));
  }
  entries.insert(place, std::move(entry));
}

void GeneratorRegistry::add_entry(GeneratorDescription description, RegistryFactory factory) {
  require_name(description.name);
  if (!factory) throw ConfigError("generators", fmt::format("the generator '{}' has no factory", description.name));
  const std::lock_guard lock(mutex_);
  description.origin = origin_;
  require_parameter_names(description);
  insert(entries_, std::make_shared<const Entry>(Entry{std::move(description), std::move(factory)}));
}

void GeneratorRegistry::add_plain(GeneratorDescription description, GeneratorFactory factory) {
  if (!factory) return add_entry(std::move(description), {});
  add_entry(std::move(description),
            [make = std::move(factory)](const json& parameters, const GeneratorRegistry&) { return make(parameters); });
}

void GeneratorRegistry::add_checked(GeneratorDescription description, CombinatorFactory factory) {
  require_degree_rule(description);
  if (!factory) return add_entry(std::move(description), {});
  auto make = [name = description.name, table = with_degree(description), checked = std::move(factory)](
                  const json& parameters, const GeneratorRegistry& registry) {
    refuse_graph_keys(name, table, parameters);
    return checked(table.read(name, with_named_members(table, parameters)), registry);
  };
  add_entry(std::move(description), std::move(make));
}

std::shared_ptr<const GeneratorRegistry::Entry> GeneratorRegistry::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> known;
  for (const auto& entry : entries_) {
    if (entry->description.name == name) return entry;
    known.push_back(entry->description.name);
  }
  const std::string nearest = nearest_name(name, known);
  throw ConfigError("generators", fmt::format("there is no generator {}{}; known are {}; --plugin FILE adds those of a "
                                              "library",
                                              json_excerpt(json(name)),
                                              nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest),
                                              fmt::join(known, ", ")));
}

std::unique_ptr<GraphGenerator> GeneratorRegistry::make(const std::string& name, const json& parameters) const {
  require_json_depth(parameters, name);
  const std::shared_ptr<const Entry> entry = find(name);
  if (const std::string solved = degree_parameter(entry->description);
      !solved.empty() && parameters.is_object() && parameters.contains("degree")) {
    throw ConfigError(name, fmt::format("\"degree\" is for whole graphs, whose length is known; here say which {0} (in "
                                        "C++, read_graph_request and choose_degree find {1})",
                                        solved == "of" ? "parameters the pattern in \"of\" has" : solved,
                                        solved == "of" ? "them" : "the " + solved));
  }
  const auto kind = parameters.is_object() ? parameters.find("kind") : parameters.end();
  json own = parameters;
  if (parameters.is_object() && kind != parameters.end()) {
    if (*kind != name) throw ConfigError(name, fmt::format("kind is {}, not \"{}\"", json_excerpt(*kind), name));
    own.erase("kind");
  }
  return checked_generator(make_named(entry->description, [&] { return entry->make(own, *this); }), entry->description);
}

std::unique_ptr<GraphGenerator> GeneratorRegistry::make(const json& specification) const {
  if (specification.is_string()) return make(specification.get<std::string>(), json::object());
  if (!specification.is_object()) {
    throw ConfigError("generators",
                      fmt::format("a graph is an object with a \"kind\", or the name of a generator, not {}",
                                  json_excerpt(specification)));
  }
  const auto kind = specification.find("kind");
  if (kind == specification.end()) {
    throw ConfigError("generators", R"(a graph needs a "kind", for example {"kind": "bpt", "k": 4})");
  }
  if (!kind->is_string()) {
    throw ConfigError("generators", fmt::format("kind must be the name of a generator, not {}", json_excerpt(*kind)));
  }
  return make(kind->get<std::string>(), specification);
}

bool GeneratorRegistry::contains(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->description.name == name; });
}

GeneratorDescription GeneratorRegistry::describe(const std::string& name) const { return find(name)->description; }

std::vector<GeneratorDescription> GeneratorRegistry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<GeneratorDescription> descriptions;
  for (const auto& entry : entries_) descriptions.push_back(entry->description);
  return descriptions;
}

void GeneratorRegistry::set_origin(std::string origin) {
  const std::lock_guard lock(mutex_);
  origin_ = std::move(origin);
}

GeneratorRegistry& generators() {
  static GeneratorRegistry registry = [] {
    GeneratorRegistry built_in;
    add_adaptive_span(built_in);
    add_bigbird(built_in);
    add_blocks(built_in);
    add_bpt(built_in);
    add_chain(built_in);
    add_cross(built_in);
    add_dilated(built_in);
    add_expander(built_in);
    add_file(built_in);
    add_full(built_in);
    add_hierarchical(built_in);
    add_kary(built_in);
    add_logsparse(built_in);
    add_longformer(built_in);
    add_memory(built_in);
    add_sentences(built_in);
    add_sparse_fixed(built_in);
    add_sparse_strided(built_in);
    add_star(built_in);
    add_window(built_in);
    add_causal(built_in);
    add_remap(built_in);
    add_union(built_in);
    built_in.set_origin("this program");  // whose own code adds the next ones
    return built_in;
  }();
  return registry;
}

}  // namespace bough
