#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace bough::nn {

/// Which row of the key-value caches holds each node that one hypothesis has completed, in the order of completion.
/// Only RowTables knows what the blocks are; copying the struct copies no reference.
struct RowTable {
  std::vector<std::int32_t> blocks;
  std::int64_t size = 0;
};

/// Rows of key-value caches that hypotheses share, and who holds them.
///
/// A table is a list of blocks of 64 rows. A fork shares all blocks; when one of two tables goes on, it copies the last
/// block if that is not full: numbers of rows, never rows. A row that no block names any more is handed out again, the
/// one freed last first, so the same calls give the same rows.
class RowTables {
 public:
  /// Adds a row that no other table has, and gives it. O(1), and every 64th time or after a fork O(64).
  std::int32_t append(RowTable& table);
  /// A table with the same rows. O(size / 64).
  RowTable fork(const RowTable& table);
  /// Gives the rows back that no other table has. O(size / 64 + rows freed).
  void release(RowTable& table);

  std::int32_t row(const RowTable& table, std::int64_t place) const {
    return block(table.blocks[static_cast<std::size_t>(place / block_rows)])
        .rows[static_cast<std::size_t>(place % block_rows)];
  }

  /// Rows that some table has; one more than the largest that was ever handed out, which caches must have room for.
  std::int64_t rows_in_use() const { return end_ - static_cast<std::int64_t>(free_rows_.size()); }
  std::int64_t end() const { return end_; }

 private:
  static constexpr std::int64_t block_rows = 64;
  struct Block {
    std::int32_t tables = 0;  ///< that it belongs to
    std::int32_t used = 0;
    std::array<std::int32_t, block_rows> rows;
  };

  Block& block(std::int32_t id) { return blocks_[static_cast<std::size_t>(id)]; }
  const Block& block(std::int32_t id) const { return blocks_[static_cast<std::size_t>(id)]; }
  std::int32_t new_block();
  std::int32_t new_row();
  void release_block(std::int32_t id);

  std::vector<Block> blocks_;
  std::vector<std::int32_t> free_blocks_, free_rows_;
  std::vector<std::int32_t> holders_;  ///< of each row: blocks that name it
  std::int64_t end_ = 0;
};

}  // namespace bough::nn
