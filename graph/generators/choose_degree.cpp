#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/graph_generator.h"
#include "graph/generators/unreachable_degree.h"
#include "graph/generators/wanted_degree.h"

namespace bough {
namespace {

using nlohmann::json;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t number_steps = std::int64_t{1} << 20;  // between the minimum and the maximum of a number
// Graphs of at most so many edges are looked at only to say what could be reached.
constexpr std::int64_t edges_for_a_message = std::int64_t{1} << 22;

/// The values of a parameter by index, in ascending order.
class Values {
 public:
  explicit Values(const Parameter& parameter) : parameter_(parameter) {}

  bool whole() const { return parameter_.type == ParameterType::integer; }
  std::int64_t first() const { return whole() ? parameter_.smallest : 0; }
  std::int64_t last() const { return whole() ? parameter_.largest : number_steps; }
  json at(std::int64_t index) const {
    if (whole()) return index;
    const double share = static_cast<double>(index) / static_cast<double>(number_steps);
    return parameter_.minimum + share * (parameter_.maximum - parameter_.minimum);
  }

 private:
  Parameter parameter_;
};

/// The parameter that a degree decides, and where it stands in the specification of a graph.
struct DegreePlace {
  json::json_pointer pattern = json::json_pointer();  ///< that has it: the whole, or one within it, "/of"
  GeneratorDescription description = {};
  const Parameter* parameter = nullptr;  ///< of the description; nothing if no parameter stands for a degree

  json::json_pointer key(const std::string& name) const { return pattern / name; }
  /// "width", "of.width".
  std::string path(const std::string& name) const {
    std::string text = key(name).to_string().substr(1);
    std::ranges::replace(text, '/', '.');
    return text;
  }
};

/// Looks for the value of one parameter whose graph has the wanted degree.
class DegreeSearch {
 public:
  DegreeSearch(json specification, const DegreePlace& place, const BuildOptions& options,
               const GeneratorRegistry& registry)
      : specification_(std::move(specification)),
        key_(place.key(place.parameter->name)),
        name_(place.path(place.parameter->name)),
        values_(*place.parameter),
        options_(options),
        registry_(registry) {
    degrees_[values_.first()] = measure(values_.first());  // what is wrong with the other parameters shows here
  }

  /// The index whose degree is nearest; the lower one of two.
  std::int64_t nearest(double wanted) {
    auto [low, high] = bracket(wanted);
    if (degree(low) >= wanted) low = descend(low, high - low);
    if (degree(low) >= wanted || degree(high) <= wanted) return degree(low) >= wanted ? low : high;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (degree(middle) >= wanted ? high : low) = middle;
    }
    return degree(high) - wanted < wanted - degree(low) ? high : low;
  }

  double degree(std::int64_t index) {
    if (const auto known = degrees_.find(index); known != degrees_.end()) return known->second;
    try {
      return degrees_[index] = measure(index);
    } catch (const Error&) {
      return degrees_[index] = infinity;  // the pattern does not take it, or the graph would be too large
    }
  }

  json specification(std::int64_t index) const {
    json result = specification_;
    result[key_] = values_.at(index);
    return result;
  }

  /// "width from 0 to 511 gives degrees from 1 to 256.5".
  std::string describe_range(std::int64_t nearest) {
    std::int64_t least = nearest;
    for (const auto& [index, value] : degrees_) {
      if (value < degrees_.at(least)) least = index;
    }
    const std::int64_t end = values_.whole() ? values_.first() + options_.length : values_.last();
    const std::int64_t last = last_taken(std::max(least, std::min(values_.last(), end)));
    const bool small = options_.length <= edges_for_a_message / std::max<std::int64_t>(1, options_.length);
    const double most = small ? degree(last) : infinity;
    const std::string from = fmt::format("{} from {}", name_, values_.at(least).dump());
    if (std::isinf(most)) return fmt::format("{} on gives degrees from {:.4g} on", from, degree(least));
    return fmt::format("{} to {} gives degrees from {:.4g} to {:.4g}", from, values_.at(last).dump(), degree(least),
                       most);
  }

  /// "c 1 gives 16, c 2 gives 23.5": the nearest below and above.
  std::string describe_neighbours(double wanted) {
    const auto described = [&](std::int64_t index) {
      return fmt::format("{} {} gives {:.4g}", name_, values_.at(index).dump(), degree(index));
    };
    std::optional<std::int64_t> below, above;
    for (const auto& [index, value] : degrees_) {
      if (value < wanted && (!below || value > degrees_.at(*below))) below = index;
      if (value > wanted && !std::isinf(value) && (!above || value < degrees_.at(*above))) above = index;
    }
    if (!below || !above) return described(below ? *below : *above);
    return described(*below) + ", " + described(*above);
  }

 private:
  double measure(std::int64_t index) const { return registry_.make(specification(index))->attention_degree(options_); }

  /// Doubles the distance from the first value until the degree rises beyond the wanted one, or as far as it goes.
  std::pair<std::int64_t, std::int64_t> bracket(double wanted) {
    std::int64_t low = values_.first();
    for (std::int64_t distance = 1;; distance *= 2) {
      const std::int64_t high = std::min(values_.last(), values_.first() + distance);
      const bool rises = degree(high) > degree(low);
      if (rises && degree(high) >= wanted) return {low, high};
      // Counts beyond the length of the sequence change nothing.
      const bool beyond = values_.whole() && distance > options_.length && degree(high) == degree(low);
      if (high == values_.last() || beyond) return {high, high};
      low = high;
    }
  }

  /// From an index with too high a degree to a place where it is lowest.
  std::int64_t descend(std::int64_t index, std::int64_t reach) {
    for (std::int64_t step = std::max<std::int64_t>(1, reach); step > 0; step /= 2) {
      for (const std::int64_t other : {index - step, index + step}) {
        if (other < values_.first() || other > values_.last()) continue;
        if (degree(other) < degree(index)) index = other;
      }
    }
    return index;
  }

  /// The last index up to `end` that the pattern takes.
  std::int64_t last_taken(std::int64_t end) const {
    const auto taken = [&](std::int64_t index) {
      try {
        registry_.make(specification(index));
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    if (taken(end)) return end;
    std::int64_t low = values_.first();
    while (end - low > 1) {
      const std::int64_t middle = low + (end - low) / 2;
      (taken(middle) ? low : end) = middle;
    }
    return low;
  }

  json specification_;
  json::json_pointer key_;
  std::string name_;
  Values values_;
  BuildOptions options_;
  const GeneratorRegistry& registry_;
  std::map<std::int64_t, double> degrees_;  ///< by index, of those looked at
};

double read_wanted(const std::string& kind, const json& value) {
  if (value.is_number() && value.get<double>() > 0) return value.get<double>();
  throw ConfigError(kind, fmt::format("degree must be a number above 0, not {}", json_excerpt(value)));
}

const Parameter* find_parameter(const GeneratorDescription& description, const std::string& name) {
  const auto found = std::ranges::find(description.parameters.parameters(), name, &Parameter::name);
  return found == description.parameters.parameters().end() ? nullptr : &*found;
}

/// What is known of the pattern of a specification that has a "degree".
std::optional<GeneratorDescription> pattern_with_degree(const json& specification, const GeneratorRegistry& registry) {
  if (!specification.is_object() || !specification.contains("degree")) return {};
  const auto kind = specification.find("kind");
  if (kind == specification.end() || !kind->is_string()) return {};
  return registry.describe(kind->get<std::string>());
}

/// Whether the pattern is made of one other, which stands in "of".
bool is_around_a_pattern(const GeneratorDescription& description) {
  const Parameter* member = find_parameter(description, "of");
  return member != nullptr && member->type == ParameterType::object;
}

/// The pattern within a pattern, named by an object; null if it is none that the registry knows.
json* member_of(json& pattern, const GeneratorRegistry& registry) {
  const auto member = pattern.find("of");
  if (member == pattern.end()) return nullptr;
  if (member->is_string()) *member = {{"kind", *member}};
  const json kind = member->is_object() ? member->value("kind", json()) : json();
  return kind.is_string() && registry.contains(kind.get<std::string>()) ? &*member : nullptr;
}

/// Looks for the parameter in the pattern itself, then in the one that it is around. Names of patterns within become
/// objects, which can hold a parameter.
DegreePlace degree_place(json& specification, GeneratorDescription description, const GeneratorRegistry& registry) {
  DegreePlace place{.pattern = json::json_pointer(), .description = std::move(description)};
  json* pattern = &specification;
  while (place.description.degree.parameter.empty() && is_around_a_pattern(place.description)) {
    pattern = member_of(*pattern, registry);
    if (pattern == nullptr) return place;
    place.pattern /= "of";
    place.description = registry.describe((*pattern)["kind"].get<std::string>());
  }
  const std::string& solved = place.description.degree.parameter;
  if (!solved.empty()) {
    place.parameter = find_parameter(place.description, solved);
  } else if (const Parameter* own = find_parameter(place.description, "degree");
             !place.pattern.empty() && own != nullptr && own->type == ParameterType::integer) {
    place.parameter = own;  // what the expander within calls so has another place than the degree of the whole
  }
  return place;
}

/// Gives the parameter the value that comes nearest to choice.wanted. `given` is all the rest of the specification, and
/// choice.parameters says what of it has been chosen already.
json solve(const json& given, const DegreePlace& place, DegreeChoice& choice, const BuildOptions& options,
           const GeneratorRegistry& registry) {
  DegreeSearch search(given, place, options, registry);
  const std::int64_t index = search.nearest(choice.wanted);
  choice.degree = search.degree(index);
  if (!(std::max(choice.degree / choice.wanted, choice.wanted / choice.degree) <= same_degree)) {
    throw UnreachableDegree(given.at("kind").get<std::string>(),
                            fmt::format("degree {:.4g} cannot be reached for {} tokens{}: {}{}; the nearest: {}",
                                        choice.wanted, options.length, options.causal ? ", causal" : "",
                                        choice.parameters.empty() ? "" : "with " + choice.parameters,
                                        search.describe_range(index), search.describe_neighbours(choice.wanted)));
  }
  json solved = search.specification(index);
  const std::string& name = place.parameter->name;
  choice.parameters += fmt::format("{} {}", place.path(name), solved[place.key(name)].dump());
  return solved;
}

[[noreturn]] void refuse_pattern(const std::string& kind, const DegreePlace& place, const GeneratorRegistry& registry) {
  if (const Parameter* members = find_parameter(place.description, "of");
      members != nullptr && members->type == ParameterType::list) {
    throw ConfigError(
        kind, fmt::format("a \"degree\" is of the whole graph, to which each pattern in \"{}\" adds, so it does "
                          "not say what each should have; give each its own parameters",
                          place.path("of")));
  }
  std::string known;
  for (const GeneratorDescription& other : registry.list()) {
    if (other.degree.parameter.empty()) continue;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", other.name, other.degree.parameter);
  }
  throw ConfigError(kind,
                    fmt::format("no parameter of {} stands for a \"degree\"; patterns that have one: {}",
                                place.pattern.empty() ? "it" : "the " + place.description.name + " in it", known));
}

}  // namespace

double GraphGenerator::attention_degree(const BuildOptions& options) const {
  return bough::attention_degree(build(options));
}

std::string to_string(const DegreeChoice& choice) {
  return fmt::format("{} gives degree {:.4g} (wanted: {:.4g})", choice.parameters, choice.degree, choice.wanted);
}

std::optional<DegreeChoice> choose_degree(json& specification, const BuildOptions& options,
                                          const GeneratorRegistry& registry) {
  const std::optional<GeneratorDescription> known = pattern_with_degree(specification, registry);
  if (!known) return {};
  const bool reads_json_itself = known->parameters.parameters().empty() && known->summary.empty();
  if (find_parameter(*known, "degree") != nullptr || reads_json_itself) return {};

  json given = specification;
  given.erase("degree");
  const DegreePlace place = degree_place(given, *known, registry);
  const Parameter* parameter = place.parameter;
  if (parameter == nullptr) {
    if (is_around_a_pattern(place.description)) registry.make(given);  // says what is wrong with the pattern in it
    refuse_pattern(known->name, place, registry);
  }
  const double wanted = read_wanted(known->name, specification["degree"]);
  if (given.contains(place.key(parameter->name))) {
    throw ConfigError(known->name, fmt::format("degree and {0} are both given, but {0} follows from the degree; "
                                               "leave one out",
                                               place.path(parameter->name)));
  }
  DegreeChoice choice{.wanted = wanted, .parameters = {}, .degree = 0};
  const DegreeRule& rule = place.description.degree;
  if (!rule.companion.empty() && !given.contains(place.key(rule.companion))) {
    const json value = rule.companion_value(options.length);
    given[place.key(rule.companion)] = value;
    choice.parameters = fmt::format("{} {}, ", place.path(rule.companion), value.dump());
  }
  specification = solve(given, place, choice, options, registry);
  return choice;
}

std::string degree_parameter(const GeneratorDescription& description) {
  if (!description.degree.parameter.empty()) return description.degree.parameter;
  return is_around_a_pattern(description) ? "of" : "";
}

bool has_open_degree(const json& specification, const GeneratorRegistry& registry) {
  if (!specification.is_object() || specification.contains("degree")) return false;
  json given = specification;
  given["degree"] = 1;
  const std::optional<GeneratorDescription> known = pattern_with_degree(given, registry);
  if (!known) return false;
  if (find_parameter(*known, "degree") != nullptr) return true;
  const DegreePlace place = degree_place(given, *known, registry);
  return place.parameter != nullptr && !given.contains(place.key(place.parameter->name));
}

std::optional<DegreeChoice> choose_own_degree(json& specification, const BuildOptions& options,
                                              const GeneratorRegistry& registry) {
  const std::optional<GeneratorDescription> known = pattern_with_degree(specification, registry);
  const Parameter* own = known ? find_parameter(*known, "degree") : nullptr;
  if (own == nullptr || own->type != ParameterType::integer) return {};
  const DegreePlace place{.pattern = json::json_pointer(), .description = *known, .parameter = own};
  DegreeChoice choice{
      .wanted = read_wanted(known->name, specification["degree"]), .parameters = "its own ", .degree = 0};
  specification = solve(specification, place, choice, options, registry);
  return choice;
}

}  // namespace bough
