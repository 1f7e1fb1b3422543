#include <algorithm>

#include "bough/core/parallel.h"
#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

std::int32_t narrow(std::size_t i) { return static_cast<std::int32_t>(i); }

/// Number of sources that a staged block holds: keys and values of one head and width 64 then take half a megabyte.
/// Work items of tiles with few columns stop earlier, so that several heads fit into the cache together.
constexpr std::int64_t block_capacity = 1024;
constexpr std::int64_t least_block = 512;
/// A staged block has room for the columns of so many tiles that share nothing.
constexpr std::int64_t tiles_per_block = 2;
/// A work item ends at so many lanes: work for one task.
constexpr std::int64_t work_item_lanes = 1024;
/// Independent parts of the backward pass, fewer if their gradients of shared sources took too much memory.
constexpr std::int64_t most_partitions = 8;
constexpr std::int64_t most_buffers_per_source = 3;

class WorkItemPlanner {
 public:
  WorkItemPlanner(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
                  const AttentionPlanOptions& options, AttentionPlan& plan)
      : tiles_(tiles),
        num_src_(num_src),
        num_dst_(num_dst),
        options_(options),
        plan_(plan),
        place_(as_size(num_src), -1) {}

  void run() {
    number_partials();
    for (std::size_t begin = 0; begin < tiles_.size();) {
      const std::size_t end = work_item_end(begin);
      add_work_item(begin, end);
      begin = end;
    }
    choose_partitions();
  }

 private:
  /// Copies the lanes; rows that are in several tiles get the numbers of their parts, in the order of the tiles.
  void number_partials() {
    std::vector<std::int32_t> parts(as_size(num_dst_), 0), next(as_size(num_dst_), -1);
    for (const PlannedTile& tile : tiles_) {
      for (std::size_t lane = 0; lane < as_size(tile.draft.num_lanes); ++lane) ++parts[as_size(tile.draft.rows[lane])];
    }
    for (std::int32_t row = 0; row < num_dst_; ++row) {
      if (parts[as_size(row)] < 2) continue;
      next[as_size(row)] = plan_.num_partials;
      plan_.split_rows.push_back({row, plan_.num_partials, parts[as_size(row)]});
      plan_.num_partials += parts[as_size(row)];
    }
    for (const PlannedTile& tile : tiles_) {
      AttentionPlan::Tile& laid = plan_.tiles.emplace_back();
      laid.rows.fill(-1);
      laid.partials.fill(-1);
      laid.num_lanes = tile.draft.num_lanes;
      for (std::size_t lane = 0; lane < as_size(tile.draft.num_lanes); ++lane) {
        const std::int32_t row = tile.draft.rows[lane];
        laid.rows[lane] = row;
        if (parts[as_size(row)] > 1) laid.partials[lane] = next[as_size(row)]++;
      }
    }
  }

  /// Takes tiles as long as their sources fit into one staged block, or as long as they read what is there anyway.
  std::size_t work_item_end(std::size_t begin) {
    sources_.clear();
    std::int64_t lanes = 0;
    std::size_t end = begin;
    std::int64_t capacity = least_block;
    for (; end < tiles_.size(); ++end) {
      const PlannedTile& tile = tiles_[end];
      std::vector<std::int32_t> fresh;
      for (const std::int32_t source : tile.columns.sources) {
        if (place_[as_size(source)] < 0) fresh.push_back(source);
      }
      const auto columns = static_cast<std::int64_t>(tile.columns.sources.size());
      capacity = std::clamp(tiles_per_block * columns, capacity, block_capacity);
      const bool too_wide = static_cast<std::int64_t>(sources_.size() + fresh.size()) > capacity;
      // The sources of such a tile hardly fit anyway; its work item gets several staged blocks, which all its tiles
      // read.
      const bool alone_too_wide = tiles_per_block * columns > block_capacity;
      if (end > begin && (lanes >= work_item_lanes || (too_wide && !alone_too_wide) || !options_.stage_blocks)) break;
      lanes += tile.draft.num_lanes;
      for (const std::int32_t source : fresh) place_[as_size(source)] = 0;
      sources_.insert(sources_.end(), fresh.begin(), fresh.end());
    }
    std::ranges::sort(sources_);
    for (std::size_t i = 0; i < sources_.size(); ++i) place_[as_size(sources_[i])] = narrow(i);
    return end;
  }

  void add_work_item(std::size_t begin, std::size_t end) {
    const auto count = static_cast<std::int64_t>(sources_.size());
    const std::int64_t num_blocks = std::max<std::int64_t>(1, (count + block_capacity - 1) / block_capacity);
    const std::int64_t size = (count + num_blocks - 1) / num_blocks;
    plan_.work_items.push_back({narrow(begin), narrow(end), narrow(plan_.staged_blocks.size()),
                                narrow(plan_.staged_blocks.size()) + static_cast<std::int32_t>(num_blocks), 0, 0});
    if (plan_.with_relations) add_dictionary(begin, end, plan_.work_items.back());
    std::vector<std::int32_t> done(end - begin, 0);  // columns of each tile that earlier staged blocks had
    for (std::int64_t w = 0; w < num_blocks; ++w) {
      AttentionPlan::StagedBlock staged;
      const std::int64_t first = w * size, last = std::min(count, first + size);
      staged.source_begin = static_cast<std::int64_t>(plan_.staged_sources.size());
      staged.num_sources = static_cast<std::int32_t>(last - first);
      plan_.staged_sources.insert(plan_.staged_sources.end(), sources_.begin() + first, sources_.begin() + last);
      staged.column_block_begin = narrow(plan_.column_blocks.size());
      for (std::size_t t = begin; t < end; ++t) {
        const std::vector<std::int32_t>& columns = tiles_[t].columns.sources;
        std::int32_t stop = done[t - begin];
        while (stop < narrow(columns.size()) && place_[as_size(columns[as_size(stop)])] < last) ++stop;
        add_column_blocks(t, done[t - begin], stop, first);
        done[t - begin] = stop;
      }
      staged.column_block_end = narrow(plan_.column_blocks.size());
      plan_.staged_blocks.push_back(staged);
    }
    for (const std::int32_t source : sources_) place_[as_size(source)] = -1;
  }

  void add_column_blocks(std::size_t t, std::int32_t begin, std::int32_t end, std::int64_t staged_first) {
    if (begin == end) return;
    const ColumnPairs pairs = pair_columns(tiles_[t].columns, tiles_[t].relations, begin, end, options_);
    const auto count = static_cast<std::int64_t>(pairs.columns.size()),
               parts = num_chunks(count, AttentionPlan::most_block_columns);
    const std::int64_t size = num_chunks(num_chunks(count, parts), column_multiple) * column_multiple;
    for (std::int64_t first = 0; first < count; first += size) {
      add_column_block(t, pairs, static_cast<std::int32_t>(first),
                       static_cast<std::int32_t>(std::min(count, first + size)), staged_first);
      AttentionPlan::ColumnBlock& block = plan_.column_blocks.back();
      block.first = begin == 0 && first == 0;
      block.last = end == narrow(tiles_[t].columns.sources.size()) && first + size >= count;
      AttentionPlan::Tile& tile = plan_.tiles[t];
      tile.whole = block.first && block.last && std::ranges::all_of(tile.partials, [](auto part) { return part < 0; });
    }
  }

  void add_column_block(std::size_t t, const ColumnPairs& pairs, std::int32_t begin, std::int32_t end,
                        std::int64_t staged_first) {
    const PlannedTile& tile = tiles_[t];
    AttentionPlan::ColumnBlock block;
    block.tile = narrow(t);
    block.column_begin = static_cast<std::int64_t>(plan_.column_masks.size());
    block.num_columns = end - begin;
    const auto inside = [&](std::int32_t place) { return std::clamp(place, begin, end) - begin; };
    block.paired_begin = inside(pairs.paired_begin);
    block.paired_end = inside(pairs.paired_end);
    block.fold_begin = inside(pairs.fold_begin);
    for (std::int32_t c = begin; c < end; ++c) {
      const auto& [low, high] = pairs.columns[as_size(c)];
      for (const std::int32_t column : {low, high}) {
        plan_.column_rows.push_back(
            static_cast<std::uint16_t>(place_[as_size(tile.columns.sources[as_size(column)])] - staged_first));
      }
      plan_.column_masks.push_back(static_cast<LaneMask>((tile.columns.masks[as_size(low)] & lane_group_masks[0]) |
                                                         (tile.columns.masks[as_size(high)] & lane_group_masks[1])));
      if (!plan_.with_relations) continue;
      const bool folded = c >= pairs.fold_begin;
      plan_.column_relations.push_back(folded ? tile.relations.column_relations[as_size(low)][0] : -1);
      plan_.column_relations.push_back(folded ? tile.relations.column_relations[as_size(high)][1] : -1);
    }
    for (std::int32_t q = 0; q < quads; ++q) {
      block.quad_begin[as_size(q)] = static_cast<std::int64_t>(plan_.quad_columns.size());
      const std::uint32_t lanes = quad_mask << (q * quad_lanes);
      for (std::int32_t c = 0; c < block.num_columns; ++c) {
        if ((plan_.column_masks[as_size(block.column_begin + c)] & lanes) != 0)
          plan_.quad_columns.push_back(static_cast<std::uint16_t>(c));
      }
    }
    block.quad_begin[quads] = static_cast<std::int64_t>(plan_.quad_columns.size());
    block.mixed_begin = narrow(plan_.mixed_columns.size());
    if (!tile.relations.mixed_columns.empty()) {
      add_mixed_columns(t, std::span(pairs.columns).subspan(as_size(begin), as_size(block.fold_begin)));
    }
    block.mixed_end = narrow(plan_.mixed_columns.size());
    plan_.column_blocks.push_back(block);
  }

  /// Cuts mixed columns wherever those of a lane group are not consecutive sources.
  void add_mixed_columns(std::size_t t, std::span<const std::array<std::int32_t, lane_groups>> columns) {
    const TileRelations& relations = tiles_[t].relations;
    const auto mixed_of = [&](std::int32_t column) {
      const auto after =
          std::ranges::upper_bound(relations.mixed_columns, column, {}, &TileRelations::MixedColumns::column_begin);
      return after - relations.mixed_columns.begin() - 1;
    };
    const auto follows = [&](std::int32_t column, std::int32_t before) {
      return column == before + 1 && mixed_of(column) == mixed_of(before);
    };
    const std::int32_t length =
        (plan_.tiles[t].dictionary_block_end - plan_.tiles[t].dictionary_block_begin) * AttentionPlan::dictionary_block;
    for (std::size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
      for (end = begin + 1; end < columns.size() && end < begin + AttentionPlan::most_mixed_columns; ++end) {
        if (!follows(columns[end][0], columns[end - 1][0]) || !follows(columns[end][1], columns[end - 1][1])) break;
      }
      plan_.mixed_columns.push_back({narrow(begin), narrow(end), narrow(plan_.dictionary_places.size())});
      for (std::int32_t i = 0; i < tile_lanes; ++i) {
        const std::int32_t column = columns[begin][as_size(i / lane_group_size)];
        const TileRelations::MixedColumns& mixed = relations.mixed_columns[as_size(mixed_of(column))];
        const TileRelations::Lane& lane = relations.lanes[as_size(mixed.lanes + i)];
        const std::int32_t run = lane.run < 0 ? 0 : run_places_[t - first_tile_][as_size(lane.run)];
        plan_.dictionary_places.push_back(
            std::clamp(run + lane.shift + column - mixed.column_begin, -AttentionPlan::most_mixed_columns, length));
      }
    }
  }

  /// Writes the dictionary of a work item: the relation runs of its tiles, each once.
  void add_dictionary(std::size_t begin, std::size_t end, AttentionPlan::WorkItem& item) {
    item.dictionary_begin = static_cast<std::int64_t>(plan_.dictionary_relations.size());
    first_tile_ = begin;
    run_places_.clear();
    if (options_.relation_dictionary) {
      add_runs_of_tiles(begin, end, item.dictionary_begin);
    } else {
      for (std::size_t t = begin; t < end; ++t) add_runs_of_tiles(t, t + 1, item.dictionary_begin);
    }
    item.dictionary_end = static_cast<std::int64_t>(plan_.dictionary_relations.size());
  }

  /// Writes the relation runs of some tiles, each once, behind what the dictionary of the work item has already.
  void add_runs_of_tiles(std::size_t begin, std::size_t end, std::int64_t dictionary_begin) {
    RelationDictionary dictionary;
    for (std::size_t t = begin; t < end; ++t) dictionary.add(tiles_[t].relations.runs);
    const auto written = static_cast<std::int64_t>(plan_.dictionary_relations.size()) - dictionary_begin;
    const auto first_block = static_cast<std::int32_t>(written / AttentionPlan::dictionary_block);
    const std::vector<std::int32_t> relations = dictionary.relations();
    plan_.dictionary_relations.insert(plan_.dictionary_relations.end(), relations.begin(), relations.end());
    for (std::size_t t = begin; t < end; ++t) {
      const RelationDictionary::Part part = dictionary.part(tiles_[t].relations.runs);
      plan_.tiles[t].dictionary_block_begin = narrow(plan_.dictionary_blocks.size());
      for (const std::int32_t block : part.blocks) plan_.dictionary_blocks.push_back(first_block + block);
      plan_.tiles[t].dictionary_block_end = narrow(plan_.dictionary_blocks.size());
      run_places_.push_back(part.places);
    }
  }

  /// Takes as many partitions as there can be before their shared sources need too many partial buffers.
  void choose_partitions() {
    const auto num_items = static_cast<std::int64_t>(plan_.work_items.size());
    for (std::int64_t count = std::min(most_partitions, num_items); count > 0; count = count == 1 ? 0 : count / 2) {
      plan_.partitions.clear();
      for (std::int64_t s = 0; s < count; ++s) {
        plan_.partitions.push_back(
            {static_cast<std::int32_t>(num_items * s / count), static_cast<std::int32_t>(num_items * (s + 1) / count)});
      }
      if (number_buffers() || count == 1) return;
    }
    number_buffers();
  }

  /// Decides where each partition adds its gradients. False if that takes too many partial buffers.
  bool number_buffers() {
    // Number of partitions that have each source; where there are several, each of them gets a partial buffer.
    std::vector<std::int32_t> last_partition(as_size(num_src_), -1), users(as_size(num_src_), 0);
    const auto for_staged_sources = [&](const auto& visit) {
      for (std::size_t s = 0; s < plan_.partitions.size(); ++s) {
        for (std::int32_t r = plan_.partitions[s].work_item_begin; r < plan_.partitions[s].work_item_end; ++r) {
          for (std::int32_t w = plan_.work_items[as_size(r)].staged_begin; w < plan_.work_items[as_size(r)].staged_end;
               ++w) {
            const AttentionPlan::StagedBlock& staged = plan_.staged_blocks[as_size(w)];
            for (std::int64_t i = staged.source_begin; i < staged.source_begin + staged.num_sources; ++i) {
              visit(narrow(s), i, plan_.staged_sources[as_size(i)]);
            }
          }
        }
      }
    };
    for_staged_sources([&](std::int32_t partition, std::int64_t, std::int32_t source) {
      users[as_size(source)] += last_partition[as_size(source)] != partition;
      last_partition[as_size(source)] = partition;
    });
    std::int64_t buffers = 0;
    for (const std::int32_t count : users) buffers += count > 1 ? count : 0;
    if (buffers > most_buffers_per_source * num_src_) return false;

    plan_.num_partial_buffers = 0;
    plan_.shared_sources.clear();
    plan_.untouched_sources.clear();
    std::vector<std::int32_t> buffer(as_size(num_src_), -1);
    for (std::int32_t source = 0; source < num_src_; ++source) {
      const std::int32_t count = users[as_size(source)];
      if (count == 0) plan_.untouched_sources.push_back(source);
      if (count < 2) continue;
      plan_.shared_sources.push_back({source, plan_.num_partial_buffers, plan_.num_partial_buffers + count});
      // Advanced when a partition meets the source for the first time.
      buffer[as_size(source)] = plan_.num_partial_buffers - 1;
      plan_.num_partial_buffers += count;
    }
    std::ranges::fill(last_partition, -1);
    plan_.scatter_adds.resize(plan_.staged_sources.size());
    for_staged_sources([&](std::int32_t partition, std::int64_t i, std::int32_t source) {
      const bool first = last_partition[as_size(source)] != partition, shared = users[as_size(source)] > 1;
      last_partition[as_size(source)] = partition;
      if (first && shared) ++buffer[as_size(source)];
      plan_.scatter_adds[as_size(i)] = {shared ? buffer[as_size(source)] : source, shared, first};
    });
    return true;
  }

  std::span<const PlannedTile> tiles_;
  std::int64_t num_src_, num_dst_;
  const AttentionPlanOptions& options_;
  AttentionPlan& plan_;
  std::vector<std::int32_t> place_;    ///< row of each source in the work item at hand; -1 if it is not there
  std::vector<std::int32_t> sources_;  ///< of the work item at hand
  std::size_t first_tile_ = 0;
  std::vector<std::vector<std::int32_t>> run_places_;  ///< of the runs of each tile of the work item
};

}  // namespace

void arrange_work_items(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
                        const AttentionPlanOptions& options, AttentionPlan& plan) {
  WorkItemPlanner(tiles, num_src, num_dst, options, plan).run();
}

}  // namespace bough
