#include "nn/decoding/row_tables.h"

#include <algorithm>

namespace bough::nn {

std::int32_t RowTables::new_block() {
  if (!free_blocks_.empty()) {
    const std::int32_t id = free_blocks_.back();
    free_blocks_.pop_back();
    return id;
  }
  blocks_.emplace_back();
  return static_cast<std::int32_t>(blocks_.size()) - 1;
}

std::int32_t RowTables::new_row() {
  if (free_rows_.empty()) {
    holders_.push_back(1);
    return static_cast<std::int32_t>(end_++);
  }
  const std::int32_t row = free_rows_.back();
  free_rows_.pop_back();
  holders_[static_cast<std::size_t>(row)] = 1;
  return row;
}

std::int32_t RowTables::append(RowTable& table) {
  if (table.size % block_rows == 0) {
    table.blocks.push_back(new_block());
    block(table.blocks.back()).tables = 1;
    block(table.blocks.back()).used = 0;
  } else if (block(table.blocks.back()).tables > 1) {
    const std::int32_t shared = table.blocks.back(), own = new_block();
    block(own) = block(shared);
    block(own).tables = 1;
    --block(shared).tables;
    for (std::int32_t i = 0; i < block(own).used; ++i) {
      ++holders_[static_cast<std::size_t>(block(own).rows[static_cast<std::size_t>(i)])];
    }
    table.blocks.back() = own;
  }
  const std::int32_t row = new_row();
  Block& last = block(table.blocks.back());
  last.rows[static_cast<std::size_t>(last.used++)] = row;
  ++table.size;
  return row;
}

RowTable RowTables::fork(const RowTable& table) {
  for (const std::int32_t id : table.blocks) ++block(id).tables;
  return table;
}

void RowTables::release_block(std::int32_t id) {
  Block& freed = block(id);
  if (--freed.tables > 0) return;
  for (std::int32_t i = freed.used; i-- > 0;) {
    const std::int32_t row = freed.rows[static_cast<std::size_t>(i)];
    if (--holders_[static_cast<std::size_t>(row)] == 0) free_rows_.push_back(row);
  }
  free_blocks_.push_back(id);
}

void RowTables::release(RowTable& table) {
  std::for_each(table.blocks.rbegin(), table.blocks.rend(), [this](std::int32_t id) { release_block(id); });
  table = {};
}

}  // namespace bough::nn
