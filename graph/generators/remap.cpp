#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "bough/graph/combinators.h"
#include "graph/attention/assembly.h"
#include "graph/generators/checked_generator.h"
#include "graph/generators/patterns.h"
#include "src/core/nearest_name.h"

namespace bough {
namespace {

class Remap final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    Parameter names = object_parameter("names", "old names to new ones; \"left\" stands for every left(...)");
    return {.name = "remap",
            .summary = "a pattern with other relations: renamed, or several made one",
            .parameters = {
                object_parameter("of", "the pattern, with its \"kind\"", {}, true),
                std::move(names),
                string_parameter("rest", "name for all relations not among the names; empty: they stay", ""),
            }};
  }

  Remap(std::shared_ptr<const GraphGenerator> pattern, RelationNames names)
      : pattern_(std::move(pattern)), names_(std::move(names)) {
    if (pattern_ == nullptr) throw ConfigError("remap", "needs a pattern");
    for (const auto& [from, to] : names_.names) {
      if (std::ranges::find(new_names_, to) == new_names_.end()) new_names_.push_back(to);
    }
    if (names_.rest && std::ranges::find(new_names_, *names_.rest) == new_names_.end()) {
      new_names_.push_back(*names_.rest);
    }
  }

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraph result = pattern_->build(options);
    std::vector<std::int32_t> map;
    for (std::size_t id = 0; id < result.relations.size(); ++id) {
      map.push_back(new_id(result.relations[id], static_cast<std::int32_t>(id)));
    }
    std::vector<std::string> relations = new_names_;
    if (!names_.rest) relations.insert(relations.end(), result.relations.begin(), result.relations.end());
    result.relations = std::move(relations);
    const auto rename = [&](Graph& graph) {
      graph = with_types(graph, map, static_cast<std::int64_t>(result.relations.size()));
    };
    rename(result.graph);
    for (Graph& group : result.head_groups) rename(group);
    for (Graph& stage : result.stages) rename(stage);
    record_form(result);
    return result;
  }

  double attention_degree(const BuildOptions& options) const override { return pattern_->attention_degree(options); }

  std::int64_t num_relations(std::int64_t max_length) const override {
    const auto renamed = static_cast<std::int64_t>(new_names_.size());
    return names_.rest ? renamed : renamed + pattern_->num_relations(max_length);
  }

  bool supports_causal() const override { return pattern_->supports_causal(); }
  std::optional<std::int64_t> fixed_length() const override { return pattern_->fixed_length(); }

 private:
  std::int32_t new_id(const std::string& name, std::int32_t old_id) const {
    const auto index_of = [this](const std::string& new_name) {
      return static_cast<std::int32_t>(std::ranges::find(new_names_, new_name) - new_names_.begin());
    };
    const std::string group = name.substr(0, name.find('('));
    for (const std::string& wanted : {name, group}) {
      if (const auto found = names_.names.find(wanted); found != names_.names.end()) return index_of(found->second);
    }
    return names_.rest ? index_of(*names_.rest) : static_cast<std::int32_t>(new_names_.size()) + old_id;
  }

  static Graph with_types(const Graph& graph, const std::vector<std::int32_t>& map, std::int64_t num_relations) {
    IdBuffer types(graph.num_edges());
    std::ranges::transform(graph.edge_types(), types.data(),
                           [&](std::int32_t id) { return map[static_cast<std::size_t>(id)]; });
    const CooView edges = graph.coo();
    if (graph.is_bipartite()) {
      return Graph::bipartite(edges.src, edges.dst,
                              {.num_src = graph.num_src(),
                               .num_dst = graph.num_dst(),
                               .edge_types = std::move(types),
                               .num_edge_types = num_relations});
    }
    return Graph::from_edges(
        edges.src, edges.dst,
        {.num_nodes = graph.num_nodes(), .edge_types = std::move(types), .num_edge_types = num_relations});
  }

  std::shared_ptr<const GraphGenerator> pattern_;
  RelationNames names_;
  std::vector<std::string> new_names_;
};

std::string group_of(const std::string& relation) { return relation.substr(0, relation.find('(')); }

/// The groups of relations that the pattern has in a short graph; which of a group there are may depend on the length.
/// Empty if it builds none.
std::vector<std::string> relation_groups(const GraphGenerator& pattern) {
  constexpr std::int64_t length = 64;
  std::set<std::string> groups;
  for (const bool causal : {false, true}) {
    if (causal && !pattern.supports_causal()) continue;
    try {
      const AttentionGraph graph = pattern.build({.length = pattern.fixed_length().value_or(length), .causal = causal});
      for (const std::string& relation : graph.relations) groups.insert(group_of(relation));
    } catch (const Error&) {
      return {};  // what is wrong is said where the graph is needed
    }
  }
  return {groups.begin(), groups.end()};
}

/// A name that was mistyped would rename nothing without a word.
void require_known_names(const RelationNames& names, const GraphGenerator& pattern) {
  const std::vector<std::string> groups = relation_groups(pattern);
  if (groups.empty()) return;
  for (const auto& [from, to] : names.names) {
    const std::string group = group_of(from);
    if (std::ranges::find(groups, group) != groups.end()) continue;
    throw ConfigError("remap", fmt::format("the pattern has no relation '{}'{}; there are {}", from,
                                           did_you_mean(group, groups), fmt::join(groups, ", ")));
  }
}

std::unique_ptr<GraphGenerator> make_remap(const Settings& settings, const GeneratorRegistry& registry) {
  RelationNames names;
  for (const auto& [from, to] : settings.json("names").items()) {
    if (!to.is_string()) throw ConfigError("remap", "names must be an object of texts: old name to new name");
    names.names[from] = to.get<std::string>();
  }
  if (const std::string rest = settings.string("rest"); !rest.empty()) names.rest = rest;
  std::shared_ptr<const GraphGenerator> pattern = make_member(registry, settings.json("of"), "of");
  require_known_names(names, *pattern);
  return remap_relations(std::move(pattern), std::move(names));
}

}  // namespace

std::unique_ptr<GraphGenerator> remap_relations(std::shared_ptr<const GraphGenerator> pattern, RelationNames names) {
  return std::make_unique<Remap>(std::move(pattern), std::move(names));
}

void add_remap(GeneratorRegistry& registry) { registry.add(Remap::description(), CombinatorFactory(make_remap)); }

}  // namespace bough
