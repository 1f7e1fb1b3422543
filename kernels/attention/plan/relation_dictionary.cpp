#include <algorithm>

#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

constexpr std::int32_t dictionary_block = AttentionPlan::dictionary_block;

}  // namespace

void RelationDictionary::add(const std::vector<std::vector<std::int32_t>>& runs) {
  for (const std::vector<std::int32_t>& run : runs) {
    const auto [entry, inserted] = places_.try_emplace(run, 0);
    if (!inserted) continue;
    const auto found = std::ranges::search(relations_, run).begin();
    entry->second = static_cast<std::int32_t>(found - relations_.begin());
    if (found == relations_.end()) relations_.insert(relations_.end(), run.begin(), run.end());
  }
}

std::vector<std::int32_t> RelationDictionary::relations() const {
  std::vector<std::int32_t> result = relations_;
  result.resize((result.size() + dictionary_block - 1) / dictionary_block * dictionary_block, 0);
  return result;
}

RelationDictionary::Part RelationDictionary::part(const std::vector<std::vector<std::int32_t>>& runs) const {
  Part part;
  std::vector<std::int32_t> places;
  for (const std::vector<std::int32_t>& run : runs) {
    const std::int32_t place = places_.at(run);
    places.push_back(place);
    for (std::int32_t b = place / dictionary_block;
         b * dictionary_block < place + static_cast<std::int32_t>(run.size()); ++b) {
      part.blocks.push_back(b);
    }
  }
  std::ranges::sort(part.blocks);
  const auto repeated = std::ranges::unique(part.blocks);
  part.blocks.erase(repeated.begin(), repeated.end());
  for (const std::int32_t place : places) {
    const auto rank = std::ranges::lower_bound(part.blocks, place / dictionary_block) - part.blocks.begin();
    part.places.push_back(static_cast<std::int32_t>(rank) * dictionary_block + place % dictionary_block);
  }
  return part;
}

}  // namespace bough
