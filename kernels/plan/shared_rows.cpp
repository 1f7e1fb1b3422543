#include "kernels/plan/shared_rows.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <span>

#include "bough/core/parallel.h"
#include "bough/detail/mp/traversal_plan.h"
#include "bough/ops/gspmm.h"

namespace bough::mp {
namespace {

/// Sources in a block, and blocks in one of the next size.
constexpr std::int64_t block_base = 4;
/// Fewer sources in common are not worth a part of their own.
constexpr std::size_t least_common = 4;
/// Groups that are looked at before the whole graph is.
constexpr std::int64_t sampled_groups = 32;

/// What a row or common part has to itself, and the common part of the level above that it begins with.
struct Remainder {
  std::vector<std::int32_t> sources;
  std::int32_t above = -1;  ///< -1: none
  bool exists = true;
};

using Level = std::vector<Remainder>;

/// A part of a list while block numbers are not known: 4^level consecutive sources, or below 0 a common part.
struct Part {
  std::int32_t place = 0;
  std::int32_t level = 0;
};

bool strictly_ascending(const std::vector<std::int32_t>& sources) {
  return std::ranges::adjacent_find(sources, std::greater_equal<>{}) == sources.end();
}

/// Moves what each two neighbours share into the level above.
Level move_common_up(Level& rows) {
  Level above((rows.size() + 1) / 2);
  std::vector<std::int32_t> rest;
  for (std::size_t i = 0; i < above.size(); ++i) {
    above[i].exists = false;
    if (2 * i + 1 == rows.size()) break;
    Remainder& first = rows[2 * i];
    Remainder& second = rows[2 * i + 1];
    if (!strictly_ascending(first.sources) || !strictly_ascending(second.sources)) continue;
    std::vector<std::int32_t>& common = above[i].sources;
    std::ranges::set_intersection(first.sources, second.sources, std::back_inserter(common));
    above[i].exists = common.size() >= least_common;
    if (!above[i].exists) {
      common.clear();
      continue;
    }
    for (Remainder* row : {&first, &second}) {
      rest.clear();
      std::ranges::set_difference(row->sources, common, std::back_inserter(rest));
      std::swap(row->sources, rest);
      row->above = static_cast<std::int32_t>(i);
    }
  }
  return above;
}

/// Builds the lists of a plan group by group.
class Sharing {
 public:
  Sharing(const Adjacency& adjacency, std::int64_t sources) : adjacency_(adjacency) {
    plan_.sources = sources;
    plan_.rows = adjacency.rows;
    plan_.edges = adjacency.edges();
    for (std::int64_t size = block_base; size <= sources; size *= block_base) {
      used_.emplace_back(static_cast<std::size_t>(sources / size), false);
    }
  }

  void add_group(std::int64_t group) {
    const std::int64_t begin = plan_.first_row(group);
    const std::int64_t end = std::min(begin + SharedRows::group_rows, adjacency_.rows);
    std::vector<Level> levels(1, Level(static_cast<std::size_t>(end - begin)));
    for (std::int64_t row = begin; row < end; ++row) {
      levels[0][static_cast<std::size_t>(row - begin)].sources.assign(
          adjacency_.neighbours + adjacency_.offsets[row], adjacency_.neighbours + adjacency_.offsets[row + 1]);
    }
    while (levels.back().size() > 1) levels.push_back(move_common_up(levels.back()));

    plan_.groups.push_back(lists());
    std::int32_t number = 0;
    std::vector<std::int32_t> above, numbers;  // of the common parts
    for (std::size_t level = levels.size(); level-- > 0;) {
      numbers.assign(levels[level].size(), 0);
      for (std::size_t i = 0; i < levels[level].size(); ++i) {
        const Remainder& remainder = levels[level][i];
        if (!remainder.exists) continue;
        numbers[i] = number++;
        list_begin_.push_back(parts_.size());
        if (remainder.above >= 0) parts_.push_back({-1 - above[static_cast<std::size_t>(remainder.above)], 0});
        add_runs(remainder.sources);
      }
      std::swap(above, numbers);
    }
    plan_.most_common = std::max(plan_.most_common, number - (end - begin));
    edges_ += adjacency_.offsets[end] - adjacency_.offsets[begin];
    rows_ += end - begin;
  }

  /// Whether the groups so far gain enough, not counting the blocks.
  bool promising() const { return static_cast<std::int64_t>(parts_.size()) + lists() < (edges_ + rows_) * 3 / 4; }

  SharedRows finish() {
    plan_.groups.push_back(lists());
    list_begin_.push_back(parts_.size());
    place_blocks();
    split_long_lists();
    for (std::int64_t& group : plan_.groups) group += plan_.global_lists();
    for (std::size_t list = 0; list + 1 < list_begin_.size(); ++list) {
      plan_.offsets.push_back(static_cast<std::int64_t>(plan_.parts.size()));
      for (const Part& part : parts_of(list)) plan_.parts.push_back(named(part));
    }
    plan_.offsets.push_back(static_cast<std::int64_t>(plan_.parts.size()));
    return std::move(plan_);
  }

 private:
  /// The level of a part that names a chunk of a long list.
  static constexpr std::int32_t list_chunk = -1;

  std::int64_t lists() const { return static_cast<std::int64_t>(list_begin_.size()); }
  std::span<const Part> parts_of(std::size_t list) const {
    return std::span(parts_).subspan(list_begin_[list], list_begin_[list + 1] - list_begin_[list]);
  }

  void add_runs(std::span<const std::int32_t> sources) {
    for (std::size_t i = 0; i < sources.size();) {
      std::size_t end = i + 1;
      while (end < sources.size() && sources[end] == sources[end - 1] + 1) ++end;
      add_run(sources[i], sources[i] + static_cast<std::int64_t>(end - i));
      i = end;
    }
  }

  /// Consecutive sources, as the largest blocks that fit.
  void add_run(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::int32_t level = 0;
      std::int64_t size = 1;
      while (begin % (size * block_base) == 0 && begin + size * block_base <= end) {
        size *= block_base;
        ++level;
      }
      parts_.push_back({static_cast<std::int32_t>(begin / size), level});
      if (level > 0) used_[static_cast<std::size_t>(level) - 1][static_cast<std::size_t>(begin / size)] = true;
      begin += size;
    }
  }

  /// Numbers the blocks in use, and those they are made of, and writes their lists, a stage for each size.
  void place_blocks() {
    for (std::size_t level = used_.size(); level-- > 1;) {
      for (std::size_t i = 0; i < used_[level].size(); ++i) {
        if (used_[level][i]) {
          std::fill_n(used_[level - 1].begin() + static_cast<std::ptrdiff_t>(i * block_base), block_base, true);
        }
      }
    }
    for (std::size_t level = 0; level < used_.size(); ++level) {
      block_numbers_.emplace_back(used_[level].size(), -1);
      for (std::size_t i = 0; i < used_[level].size(); ++i) {
        if (!used_[level][i]) continue;
        block_numbers_[level][i] = static_cast<std::int32_t>(plan_.offsets.size());
        plan_.offsets.push_back(static_cast<std::int64_t>(plan_.parts.size()));
        for (std::size_t child = i * block_base; child < (i + 1) * block_base; ++child) {
          plan_.parts.push_back(named({static_cast<std::int32_t>(child), static_cast<std::int32_t>(level)}));
        }
      }
      plan_.stages.push_back(static_cast<std::int64_t>(plan_.offsets.size()));
    }
  }

  /// Replaces lists that are too long by lists of their chunks, which are global.
  void split_long_lists() {
    std::vector<Part> shortened;
    std::vector<std::size_t> begins;
    for (std::size_t list = 0; list + 1 < list_begin_.size(); ++list) {
      begins.push_back(shortened.size());
      std::span<const Part> left = parts_of(list);
      if (left.size() > SharedRows::longest_list) {
        for (; !left.empty() && left[0].place < 0; left = left.subspan(1)) shortened.push_back(left[0]);
        for (; !left.empty(); left = left.subspan(std::min<std::size_t>(left.size(), SharedRows::longest_list))) {
          shortened.push_back({static_cast<std::int32_t>(plan_.offsets.size()), list_chunk});
          plan_.offsets.push_back(static_cast<std::int64_t>(plan_.parts.size()));
          for (const Part& part : left.first(std::min<std::size_t>(left.size(), SharedRows::longest_list))) {
            plan_.parts.push_back(named(part));
          }
        }
      }
      shortened.insert(shortened.end(), left.begin(), left.end());
    }
    begins.push_back(shortened.size());
    parts_ = std::move(shortened);
    list_begin_ = std::move(begins);
    plan_.stages.push_back(static_cast<std::int64_t>(plan_.offsets.size()));
  }

  /// A part as the plan names it.
  std::int32_t named(const Part& part) const {
    if (part.level == 0) return part.place;
    const auto sources = static_cast<std::int32_t>(plan_.sources);
    if (part.level == list_chunk) return sources + part.place;
    return sources + block_numbers_[static_cast<std::size_t>(part.level) - 1][static_cast<std::size_t>(part.place)];
  }

  const Adjacency& adjacency_;
  SharedRows plan_;
  std::vector<Part> parts_;
  std::vector<std::size_t> list_begin_;
  std::vector<std::vector<bool>> used_;  ///< blocks of 4, 16, ...
  std::vector<std::vector<std::int32_t>> block_numbers_;
  std::int64_t edges_ = 0, rows_ = 0;
};

}  // namespace

SharedRows share_rows(const Adjacency& adjacency, std::int64_t sources) {
  const std::int64_t groups = num_chunks(adjacency.rows, SharedRows::group_rows);
  if (sources + adjacency.rows + adjacency.edges() > std::numeric_limits<std::int32_t>::max()) return {};
  if (groups > 2 * sampled_groups) {
    Sharing sample(adjacency, sources);
    for (std::int64_t i = 0; i < sampled_groups; ++i) sample.add_group(i * groups / sampled_groups);
    if (!sample.promising()) return {};
  }
  Sharing sharing(adjacency, sources);
  for (std::int64_t group = 0; group < groups; ++group) sharing.add_group(group);
  SharedRows plan = sharing.finish();
  return plan.worthwhile() ? plan : SharedRows{};
}

std::shared_ptr<const SharedRows> shared_rows(const Graph& graph, Direction direction) {
  const bool by_destination = direction == Direction::by_destination;
  std::shared_ptr<const SharedRows> plan = graph.cached<SharedRows>(
      [&] { return share_rows(edges_by(graph, direction), by_destination ? graph.num_src() : graph.num_dst()); },
      by_destination ? 0 : 1);
  return plan->num_groups() > 0 ? plan : nullptr;
}

}  // namespace bough::mp

namespace bough {

double shared_work(const Graph& graph) {
  const auto plan = mp::shared_rows(graph, mp::Direction::by_destination);
  return plan == nullptr ? 1 : static_cast<double>(plan->cost()) / static_cast<double>(plan->edges + plan->rows);
}

}  // namespace bough
