#include "kernels/attention/plan/plan_layout.h"

#include <algorithm>

#include "kernels/attention/plan/column_pairs.h"
#include "kernels/attention/plan/relation_dictionary.h"

namespace bough {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int32_t narrow(std::size_t i) { return static_cast<std::int32_t>(i); }

/// Sources of a window, at most: keys and values of one head and width 64 then take half a megabyte. Ranges of tiles
/// with few columns stop earlier, so that several heads fit into the cache together.
constexpr std::int64_t window_capacity = 1024;
constexpr std::int64_t least_window = 512;
constexpr std::int64_t window_tiles = 2;  ///< a window has room for the columns of so many tiles that share nothing
/// A range ends at so many lanes: work for one task.
constexpr std::int64_t range_lanes = 1024;
/// Independent parts of the backward pass, fewer if their gradients of shared sources took too much memory.
constexpr std::int64_t most_strands = 8;
constexpr std::int64_t most_slots_per_source = 3;

class Layout {
 public:
  Layout(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
         const AttentionPlanOptions& options, AttentionPlan& plan)
      : tiles_(tiles),
        num_src_(num_src),
        num_dst_(num_dst),
        options_(options),
        plan_(plan),
        place_(index(num_src), -1) {}

  void run() {
    number_partials();
    for (std::size_t begin = 0; begin < tiles_.size();) {
      const std::size_t end = range_end(begin);
      add_range(begin, end);
      begin = end;
    }
    choose_strands();
  }

 private:
  /// Copies the lanes; rows that are in several tiles get the numbers of their parts, in the order of the tiles.
  void number_partials() {
    std::vector<std::int32_t> parts(index(num_dst_), 0), next(index(num_dst_), -1);
    for (const PlannedTile& tile : tiles_) {
      for (std::size_t lane = 0; lane < index(tile.draft.num_lanes); ++lane) ++parts[index(tile.draft.rows[lane])];
    }
    for (std::int32_t row = 0; row < num_dst_; ++row) {
      if (parts[index(row)] < 2) continue;
      next[index(row)] = plan_.num_partials;
      plan_.split_rows.push_back({row, plan_.num_partials, parts[index(row)]});
      plan_.num_partials += parts[index(row)];
    }
    for (const PlannedTile& tile : tiles_) {
      AttentionPlan::Tile& laid = plan_.tiles.emplace_back();
      laid.rows.fill(-1);
      laid.partials.fill(-1);
      laid.num_lanes = tile.draft.num_lanes;
      for (std::size_t lane = 0; lane < index(tile.draft.num_lanes); ++lane) {
        const std::int32_t row = tile.draft.rows[lane];
        laid.rows[lane] = row;
        if (parts[index(row)] > 1) laid.partials[lane] = next[index(row)]++;
      }
    }
  }

  /// Takes tiles as long as their sources fit into one window, or as long as they read what the range has anyway.
  std::size_t range_end(std::size_t begin) {
    sources_.clear();
    std::int64_t lanes = 0;
    std::size_t end = begin;
    std::int64_t capacity = least_window;
    for (; end < tiles_.size(); ++end) {
      const PlannedTile& tile = tiles_[end];
      std::vector<std::int32_t> fresh;
      for (const std::int32_t source : tile.columns.sources) {
        if (place_[index(source)] < 0) fresh.push_back(source);
      }
      const auto columns = static_cast<std::int64_t>(tile.columns.sources.size());
      capacity = std::clamp(window_tiles * columns, capacity, window_capacity);
      const bool too_wide = static_cast<std::int64_t>(sources_.size() + fresh.size()) > capacity;
      // The sources of such a tile hardly fit anyway; its range gets several windows, which all its tiles read.
      const bool alone_too_wide = window_tiles * columns > window_capacity;
      if (end > begin && (lanes >= range_lanes || (too_wide && !alone_too_wide) || !options_.stage_blocks)) break;
      lanes += tile.draft.num_lanes;
      for (const std::int32_t source : fresh) place_[index(source)] = 0;
      sources_.insert(sources_.end(), fresh.begin(), fresh.end());
    }
    std::ranges::sort(sources_);
    for (std::size_t i = 0; i < sources_.size(); ++i) place_[index(sources_[i])] = narrow(i);
    return end;
  }

  void add_range(std::size_t begin, std::size_t end) {
    const auto count = static_cast<std::int64_t>(sources_.size());
    const std::int64_t num_windows = std::max<std::int64_t>(1, (count + window_capacity - 1) / window_capacity);
    const std::int64_t size = (count + num_windows - 1) / num_windows;
    plan_.ranges.push_back({narrow(begin), narrow(end), narrow(plan_.windows.size()),
                            narrow(plan_.windows.size()) + static_cast<std::int32_t>(num_windows), 0, 0});
    if (plan_.with_relations) add_book(begin, end, plan_.ranges.back());
    std::vector<std::int32_t> done(end - begin, 0);  // columns of each tile that earlier windows had
    for (std::int64_t w = 0; w < num_windows; ++w) {
      AttentionPlan::Window window;
      const std::int64_t first = w * size, last = std::min(count, first + size);
      window.source_begin = static_cast<std::int64_t>(plan_.window_sources.size());
      window.num_sources = static_cast<std::int32_t>(last - first);
      plan_.window_sources.insert(plan_.window_sources.end(), sources_.begin() + first, sources_.begin() + last);
      window.piece_begin = narrow(plan_.pieces.size());
      for (std::size_t t = begin; t < end; ++t) {
        const std::vector<std::int32_t>& columns = tiles_[t].columns.sources;
        std::int32_t stop = done[t - begin];
        while (stop < narrow(columns.size()) && place_[index(columns[index(stop)])] < last) ++stop;
        add_pieces(t, done[t - begin], stop, first);
        done[t - begin] = stop;
      }
      window.piece_end = narrow(plan_.pieces.size());
      plan_.windows.push_back(window);
    }
    for (const std::int32_t source : sources_) place_[index(source)] = -1;
  }

  void add_pieces(std::size_t t, std::int32_t begin, std::int32_t end, std::int64_t window_first) {
    if (begin == end) return;
    const ColumnPairs pairs = pair_columns(tiles_[t].columns, tiles_[t].relations, begin, end, options_);
    const auto count = static_cast<std::int64_t>(pairs.columns.size()),
               parts = (count + AttentionPlan::piece_columns - 1) / AttentionPlan::piece_columns;
    const std::int64_t size = ((count + parts - 1) / parts + 3) / 4 * 4;
    for (std::int64_t first = 0; first < count; first += size) {
      add_piece(t, pairs, static_cast<std::int32_t>(first), static_cast<std::int32_t>(std::min(count, first + size)),
                window_first);
      AttentionPlan::Piece& piece = plan_.pieces.back();
      piece.first = begin == 0 && first == 0;
      piece.last = end == narrow(tiles_[t].columns.sources.size()) && first + size >= count;
      AttentionPlan::Tile& tile = plan_.tiles[t];
      tile.whole = piece.first && piece.last && std::ranges::all_of(tile.partials, [](auto part) { return part < 0; });
    }
  }

  void add_piece(std::size_t t, const ColumnPairs& pairs, std::int32_t begin, std::int32_t end,
                 std::int64_t window_first) {
    const PlannedTile& tile = tiles_[t];
    AttentionPlan::Piece piece;
    piece.tile = narrow(t);
    piece.column_begin = static_cast<std::int64_t>(plan_.column_masks.size());
    piece.num_columns = end - begin;
    const auto inside = [&](std::int32_t place) { return std::clamp(place, begin, end) - begin; };
    piece.halves_begin = inside(pairs.halves_begin);
    piece.halves_end = inside(pairs.halves_end);
    piece.fold_begin = inside(pairs.fold_begin);
    for (std::int32_t c = begin; c < end; ++c) {
      const auto& [low, high] = pairs.columns[index(c)];
      for (const std::int32_t column : {low, high}) {
        plan_.column_rows.push_back(
            static_cast<std::uint16_t>(place_[index(tile.columns.sources[index(column)])] - window_first));
      }
      plan_.column_masks.push_back(
          static_cast<std::uint16_t>((tile.columns.masks[index(low)] & AttentionPlan::lanes_of_half[0]) |
                                     (tile.columns.masks[index(high)] & AttentionPlan::lanes_of_half[1])));
      if (!plan_.with_relations) continue;
      const bool folded = c >= pairs.fold_begin;
      plan_.column_relations.push_back(folded ? tile.relations.column_relations[index(low)][0] : -1);
      plan_.column_relations.push_back(folded ? tile.relations.column_relations[index(high)][1] : -1);
    }
    for (std::int32_t g = 0; g < AttentionPlan::groups; ++g) {
      piece.group_begin[index(g)] = static_cast<std::int64_t>(plan_.group_columns.size());
      const std::uint32_t lanes = 0xFu << (g * AttentionPlan::group_lanes);
      for (std::int32_t c = 0; c < piece.num_columns; ++c) {
        if ((plan_.column_masks[index(piece.column_begin + c)] & lanes) != 0)
          plan_.group_columns.push_back(static_cast<std::uint16_t>(c));
      }
    }
    piece.group_begin[AttentionPlan::groups] = static_cast<std::int64_t>(plan_.group_columns.size());
    piece.segment_begin = narrow(plan_.segments.size());
    if (!tile.relations.segments.empty()) {
      add_segments(t, std::span(pairs.columns).subspan(index(begin), index(piece.fold_begin)));
    }
    piece.segment_end = narrow(plan_.segments.size());
    plan_.pieces.push_back(piece);
  }

  /// Cuts mixed columns wherever those of a half do not follow each other in one segment of the tile.
  void add_segments(std::size_t t, std::span<const std::array<std::int32_t, 2>> columns) {
    const TileRelations& relations = tiles_[t].relations;
    const auto segment_of = [&](std::int32_t column) {
      const auto after =
          std::ranges::upper_bound(relations.segments, column, {}, &TileRelations::Segment::column_begin);
      return after - relations.segments.begin() - 1;
    };
    const auto follows = [&](std::int32_t column, std::int32_t before) {
      return column == before + 1 && segment_of(column) == segment_of(before);
    };
    const std::int32_t length =
        (plan_.tiles[t].block_end - plan_.tiles[t].block_begin) * AttentionPlan::block_relations;
    for (std::size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
      for (end = begin + 1; end < columns.size() && end < begin + AttentionPlan::segment_columns; ++end) {
        if (!follows(columns[end][0], columns[end - 1][0]) || !follows(columns[end][1], columns[end - 1][1])) break;
      }
      plan_.segments.push_back({narrow(begin), narrow(end), narrow(plan_.bases.size())});
      for (std::int32_t i = 0; i < AttentionPlan::lanes; ++i) {
        const std::int32_t column = columns[begin][index(i / AttentionPlan::half_lanes)];
        const TileRelations::Segment& segment = relations.segments[index(segment_of(column))];
        const TileRelations::Lane& lane = relations.lanes[index(segment.lanes + i)];
        const std::int32_t word = lane.word < 0 ? 0 : word_places_[t - range_begin_][index(lane.word)];
        plan_.bases.push_back(
            std::clamp(word + lane.shift + column - segment.column_begin, -AttentionPlan::segment_columns, length));
      }
    }
  }

  /// Writes the book of a range: the words of its tiles, each once.
  void add_book(std::size_t begin, std::size_t end, AttentionPlan::Range& range) {
    range.book_begin = static_cast<std::int64_t>(plan_.book_relations.size());
    range_begin_ = begin;
    word_places_.clear();
    if (options_.relation_dictionary) {
      add_book_of_tiles(begin, end, range.book_begin);
    } else {
      for (std::size_t t = begin; t < end; ++t) add_book_of_tiles(t, t + 1, range.book_begin);
    }
    range.book_end = static_cast<std::int64_t>(plan_.book_relations.size());
  }

  /// Writes the words of some tiles, each once, behind what the range's book has already.
  void add_book_of_tiles(std::size_t begin, std::size_t end, std::int64_t book_begin) {
    RelationBook book;
    for (std::size_t t = begin; t < end; ++t) book.add(tiles_[t].relations.words);
    const auto written = static_cast<std::int64_t>(plan_.book_relations.size()) - book_begin;
    const auto first_block = static_cast<std::int32_t>(written / AttentionPlan::block_relations);
    const std::vector<std::int32_t> relations = book.relations();
    plan_.book_relations.insert(plan_.book_relations.end(), relations.begin(), relations.end());
    for (std::size_t t = begin; t < end; ++t) {
      const RelationBook::Part part = book.part(tiles_[t].relations.words);
      plan_.tiles[t].block_begin = narrow(plan_.book_blocks.size());
      for (const std::int32_t block : part.blocks) plan_.book_blocks.push_back(first_block + block);
      plan_.tiles[t].block_end = narrow(plan_.book_blocks.size());
      word_places_.push_back(part.places);
    }
  }

  /// Most strands of which the shared sources do not need too many slots.
  void choose_strands() {
    const auto num_ranges = static_cast<std::int64_t>(plan_.ranges.size());
    for (std::int64_t count = std::min(most_strands, num_ranges); count > 0; count = count == 1 ? 0 : count / 2) {
      plan_.strands.clear();
      for (std::int64_t s = 0; s < count; ++s) {
        plan_.strands.push_back({static_cast<std::int32_t>(num_ranges * s / count),
                                 static_cast<std::int32_t>(num_ranges * (s + 1) / count)});
      }
      if (number_slots() || count == 1) return;
    }
    number_slots();
  }

  /// Decides where each strand adds its gradients. False if that takes too many slots.
  bool number_slots() {
    // Strands that have each source, and a slot for each pair if there are several.
    std::vector<std::int32_t> last_strand(index(num_src_), -1), users(index(num_src_), 0);
    const auto for_windows = [&](const auto& visit) {
      for (std::size_t s = 0; s < plan_.strands.size(); ++s) {
        for (std::int32_t r = plan_.strands[s].range_begin; r < plan_.strands[s].range_end; ++r) {
          for (std::int32_t w = plan_.ranges[index(r)].window_begin; w < plan_.ranges[index(r)].window_end; ++w) {
            const AttentionPlan::Window& window = plan_.windows[index(w)];
            for (std::int64_t i = window.source_begin; i < window.source_begin + window.num_sources; ++i) {
              visit(narrow(s), i, plan_.window_sources[index(i)]);
            }
          }
        }
      }
    };
    for_windows([&](std::int32_t strand, std::int64_t, std::int32_t source) {
      users[index(source)] += last_strand[index(source)] != strand;
      last_strand[index(source)] = strand;
    });
    std::int64_t slots = 0;
    for (const std::int32_t count : users) slots += count > 1 ? count : 0;
    if (slots > most_slots_per_source * num_src_) return false;

    plan_.num_slots = 0;
    plan_.shared_sources.clear();
    plan_.untouched_sources.clear();
    std::vector<std::int32_t> slot(index(num_src_), -1);
    for (std::int32_t source = 0; source < num_src_; ++source) {
      const std::int32_t count = users[index(source)];
      if (count == 0) plan_.untouched_sources.push_back(source);
      if (count < 2) continue;
      plan_.shared_sources.push_back({source, plan_.num_slots, plan_.num_slots + count});
      slot[index(source)] = plan_.num_slots - 1;  // advanced when a strand meets the source for the first time
      plan_.num_slots += count;
    }
    std::ranges::fill(last_strand, -1);
    plan_.flushes.resize(plan_.window_sources.size());
    for_windows([&](std::int32_t strand, std::int64_t i, std::int32_t source) {
      const bool first = last_strand[index(source)] != strand, shared = users[index(source)] > 1;
      last_strand[index(source)] = strand;
      if (first && shared) ++slot[index(source)];
      plan_.flushes[index(i)] = {shared ? slot[index(source)] : source, shared, first};
    });
    return true;
  }

  std::span<const PlannedTile> tiles_;
  std::int64_t num_src_, num_dst_;
  const AttentionPlanOptions& options_;
  AttentionPlan& plan_;
  std::vector<std::int32_t> place_;    ///< of each source in the range at hand; -1 if it is not there
  std::vector<std::int32_t> sources_;  ///< of the range at hand
  std::size_t range_begin_ = 0;
  std::vector<std::vector<std::int32_t>> word_places_;  ///< of the words of each tile of the range
};

}  // namespace

void lay_out_tiles(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
                   const AttentionPlanOptions& options, AttentionPlan& plan) {
  Layout(tiles, num_src, num_dst, options, plan).run();
}

}  // namespace bough
