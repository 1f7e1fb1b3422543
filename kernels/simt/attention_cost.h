#pragma once

#include <cstdint>

/// What the kernels of graph attention move and compute, for float and widths up to 64 (other widths share out lanes
/// differently). Tests hold the kernels to it on the emulator.
namespace bough::simt {

struct AttentionSize {
  std::int64_t rows = 0, edges = 0;
  std::int64_t heads = 1, width = 64, value_width = 64;
  bool relation_keys = false;
};

struct AttentionCost {
  double load_sectors = 0;   ///< of 32 bytes, as warps ask for them; caches keep many of them from memory
  double store_sectors = 0;  ///< the same
  double operations = 0;     ///< multiplications and additions
  double least_bytes = 0;    ///< every tensor once: what must come from memory and go there
};

/// Sectors of a vector of floats.
constexpr double vector_sectors(std::int64_t width) { return static_cast<double>((width * 4 + 31) / 32); }

/// A row reads its item and query, an edge its key and value and, with relations, the relation's key. Four edges share
/// a sector of each small number: the neighbour and, with relations, the edge's id and type.
constexpr AttentionCost forward_cost(const AttentionSize& size) {
  const double key = vector_sectors(size.width), value = vector_sectors(size.value_width);
  const double rows = static_cast<double>(size.rows * size.heads), edges = static_cast<double>(size.edges * size.heads);
  const double small = size.relation_keys ? 3 : 1;
  const double features = static_cast<double>(size.width + size.value_width);
  return {.load_sectors = edges * (key + value + (size.relation_keys ? key : 0) + small / 4) + rows * (1 + key),
          .store_sectors = rows * (value + 1),
          .operations = edges * (2 * features + (size.relation_keys ? static_cast<double>(size.width) : 0)),
          .least_bytes = 32 * rows * (2 * key + 2 * value) + 4 * static_cast<double>(size.edges) * small};
}

/// A row reads its item and two vectors, an edge two vectors of its other end and, with relations, the relation's key.
/// Small numbers are those of forward, log_sum and delta. Without the gradients of tables.
constexpr AttentionCost backward_pass_cost(const AttentionSize& size, double written_vectors) {
  const double key = vector_sectors(size.width), value = vector_sectors(size.value_width);
  const double rows = static_cast<double>(size.rows * size.heads), edges = static_cast<double>(size.edges * size.heads);
  const double small = size.relation_keys ? 5 : 3;
  const double features = static_cast<double>(size.width + size.value_width);
  return {
      .load_sectors = edges * (key + value + (size.relation_keys ? key : 0) + small / 4) + rows * (1 + key + value),
      .store_sectors = rows * written_vectors,
      .operations = edges * (2 * features + (size.relation_keys ? static_cast<double>(size.width) : 0)),
      .least_bytes = 32 * rows * (2 * key + 2 * value + written_vectors) + 4 * static_cast<double>(size.edges) * small};
}
/// Gradients of queries.
constexpr AttentionCost to_destinations_cost(const AttentionSize& size) {
  AttentionCost cost = backward_pass_cost(size, vector_sectors(size.width));
  cost.operations += 2 * static_cast<double>(size.edges * size.heads * size.width);
  return cost;
}
/// Gradients of keys and values.
constexpr AttentionCost to_sources_cost(const AttentionSize& size) {
  AttentionCost cost = backward_pass_cost(size, vector_sectors(size.width) + vector_sectors(size.value_width));
  cost.operations += 2 * static_cast<double>(size.edges * size.heads * (size.width + size.value_width));
  return cost;
}
/// d_out.out of every row.
constexpr AttentionCost delta_cost(const AttentionSize& size) {
  const double rows = static_cast<double>(size.rows * size.heads), value = vector_sectors(size.value_width);
  return {.load_sectors = rows * 2 * value,
          .store_sectors = rows,
          .operations = rows * 2 * static_cast<double>(size.value_width),
          .least_bytes = 32 * rows * 2 * value};
}

}  // namespace bough::simt
