#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bough/graph/graph_generator.h"

/// Patterns made of patterns. In JSON: {"kind": "union", "of": [...]}, {"kind": "causal", "of": {...}},
/// {"kind": "remap", "of": {...}, "names": {...}, "rest": "..."}.
namespace bough {

/// A pattern and what its relations are called in a union: "label:left(1)".
struct UnionMember {
  std::string label;                                ///< before the colon
  std::shared_ptr<const GraphGenerator> generator;  ///< the pattern
};

/// All edges of all members over the same tokens. Tokens are shared, other nodes are each member's own, in the order of
/// the members. An edge that several members have is there once, with the relation of the first of them. The root is
/// that of the first member that has one. Relations of different members are different; their ids depend on the members
/// only. ConfigError without members or if two labels are equal; build throws GraphError for members that are
/// bipartite, have head groups, stages or a soft span.
std::unique_ptr<GraphGenerator> unite(std::vector<UnionMember> members);

/// The pattern without the edges that would let a node depend on tokens after the last one it covers; always causal.
std::unique_ptr<GraphGenerator> restrict_to_past(std::shared_ptr<const GraphGenerator> pattern);

/// How relations are renamed. A name stands for itself and, unless the full name is listed too, for all that continue
/// it with a bracket: "left" for "left(1)". Relations that get the same name become one. Names that nothing has are
/// idle: which relations there are depends on the length.
struct RelationNames {
  std::map<std::string, std::string> names;  ///< old to new
  std::optional<std::string> rest;           ///< name for all others; they stay as they are if there is none
};

/// The same edges with other relations. New names have the first ids, in the order of the old ones they stand for.
std::unique_ptr<GraphGenerator> remap_relations(std::shared_ptr<const GraphGenerator> pattern, RelationNames names);

}  // namespace bough
