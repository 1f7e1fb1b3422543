#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/combinators.h"
#include "graph/attention/assembly.h"
#include "graph/generators/checked_generator.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

/// Relation ids of the members side by side, the same for every length. A member whose table is small for any length
/// has a block of its own; tables that grow with the length take turns after the blocks.
class UnionRelations {
 public:
  explicit UnionRelations(const std::vector<UnionMember>& members) {
    for (const UnionMember& member : members) {
      const std::int64_t most = member.generator->num_relations(max_sequence_length);
      places_.push_back(most <= largest_block ? Place{blocks_, 1} : Place{growing_, 0});
      (most <= largest_block ? blocks_ : growing_) += most <= largest_block ? most : 1;
    }
    for (Place& place : places_) {
      if (place.step == 0) place = {blocks_ + place.first, growing_};
    }
  }

  std::int64_t id(std::size_t member, std::int64_t relation) const {
    return places_[member].first + relation * places_[member].step;
  }

  std::int64_t count(const std::vector<UnionMember>& members, std::int64_t length) const {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (places_[i].first >= blocks_) rows = std::max(rows, members[i].generator->num_relations(length));
    }
    return blocks_ + rows * growing_;
  }

 private:
  static constexpr std::int64_t largest_block = 4096;
  struct Place {
    std::int64_t first;
    std::int64_t step;
  };
  std::vector<Place> places_;
  std::int64_t blocks_ = 0;
  std::int64_t growing_ = 0;
};

std::vector<UnionMember> checked(std::vector<UnionMember> members) {
  if (members.empty()) throw ConfigError("union", "needs at least one pattern");
  for (auto one = members.begin(); one != members.end(); ++one) {
    if (one->generator == nullptr) throw ConfigError("union", fmt::format("'{}' has no generator", one->label));
    if (std::find_if(members.begin(), one, [&](const auto& other) { return other.label == one->label; }) != one) {
      throw ConfigError("union", fmt::format("two members are called '{}'", one->label));
    }
  }
  return members;
}

void require_plain(const std::string& label, const AttentionGraph& part, std::int64_t length) {
  const char* reason = part.graph.is_bipartite()   ? "its sources are not its own nodes"
                       : !part.head_groups.empty() ? "its heads see different graphs"
                       : !part.stages.empty()      ? "its layers have several stages"
                       : part.soft_span            ? "its heads learn how far they see"
                                                   : nullptr;
  if (reason != nullptr) throw GraphError("union", fmt::format("'{}' cannot be a member: {}", label, reason));
  for (std::int64_t i = 0; i < length; ++i) {
    if (part.num_tokens() != length || part.tokens[static_cast<std::size_t>(i)] != i) {
      throw GraphError("union", fmt::format("'{}' cannot be a member: its first nodes are not the tokens", label));
    }
  }
}

class Union final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "union",
            .summary = "all edges of several patterns; an edge of more than one has the relation of the first",
            .parameters = {list_parameter("of", "the patterns, each with its \"kind\"", {}, 1)}};
  }

  explicit Union(std::vector<UnionMember> members) : members_(checked(std::move(members))), relations_(members_) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraph result;
    result.causal = options.causal;
    const std::int64_t num_relations = this->num_relations(options.length);
    result.relations.resize(static_cast<std::size_t>(num_relations));
    std::vector<RowSource> rows;
    for (std::size_t i = 0; i < members_.size(); ++i) rows.push_back(add_member(i, options, result));
    result.graph = assemble_graph(result, false, num_relations, merge_rows(std::move(rows)));
    if (result.readout.empty()) result.readout = result.tokens;
    const auto num_nodes = static_cast<std::int64_t>(result.levels.size());
    result.sequences = {{.node_end = num_nodes,
                         .source_end = num_nodes,
                         .token_end = options.length,
                         .readout_end = static_cast<std::int64_t>(result.readout.size()),
                         .root = result.root}};
    return result;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_.count(members_, max_length); }

  bool supports_causal() const override {
    return std::ranges::all_of(members_, [](const UnionMember& member) { return member.generator->supports_causal(); });
  }
  std::optional<std::int64_t> fixed_length() const override {
    for (const UnionMember& member : members_) {
      if (const auto only = member.generator->fixed_length()) return only;
    }
    return {};
  }

 private:
  /// Adds the nodes and the relation names of a member; returns how its edges are to be read.
  RowSource add_member(std::size_t index, const BuildOptions& options, AttentionGraph& result) const {
    const std::string& label = members_[index].label;
    AttentionGraph part = members_[index].generator->build(options);
    require_plain(label, part, options.length);
    const std::ptrdiff_t shared = index == 0 ? 0 : static_cast<std::ptrdiff_t>(options.length);
    RowSource from(part.graph);
    from.shared = static_cast<std::int32_t>(options.length);
    from.shift = static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(result.levels.size()) - shared);
    from.relation = [this, index](std::int32_t id) { return static_cast<std::int32_t>(relations_.id(index, id)); };

    if (index == 0) result.tokens = part.tokens;
    result.levels.insert(result.levels.end(), part.levels.begin() + shared, part.levels.end());
    result.kinds.insert(result.kinds.end(), part.kinds.begin() + shared, part.kinds.end());
    result.covers.insert(result.covers.end(), part.covers.begin() + shared, part.covers.end());
    if (result.root < 0 && part.root >= 0) {
      result.root = part.root < from.shared ? part.root : part.root + from.shift;
      result.readout = {result.root};
    }
    for (std::size_t id = 0; id < part.relations.size(); ++id) {
      result.relations[static_cast<std::size_t>(relations_.id(index, static_cast<std::int64_t>(id)))] =
          fmt::format("{}:{}", label, part.relations[id]);
    }
    return from;
  }

  std::vector<UnionMember> members_;
  UnionRelations relations_;
};

std::unique_ptr<GraphGenerator> make_union(const Settings& settings, const GeneratorRegistry& registry) {
  std::vector<UnionMember> members;
  for (const nlohmann::json& specification : settings.json("of")) {
    const nlohmann::json kind =
        specification.is_object() ? specification.value("kind", nlohmann::json()) : specification;
    UnionMember member{kind.is_string() ? kind.get<std::string>() : "",
                       make_member(registry, specification, fmt::format("of[{}]", members.size()))};
    const auto same = std::ranges::count_if(members, [&](const UnionMember& other) {
      return other.label.substr(0, other.label.find('#')) == member.label;
    });
    if (same > 0) member.label += fmt::format("#{}", same + 1);
    members.push_back(std::move(member));
  }
  return unite(std::move(members));
}

}  // namespace

std::unique_ptr<GraphGenerator> unite(std::vector<UnionMember> members) {
  return std::make_unique<Union>(std::move(members));
}

void add_union(GeneratorRegistry& registry) { registry.add(Union::description(), CombinatorFactory(make_union)); }

}  // namespace bough
