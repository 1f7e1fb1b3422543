#pragma once

#include <cstdint>
#include <string_view>

namespace bough {

/// How the message of an edge is made of its two operands. dot multiplies and adds up the last axis, which stays with
/// extent 1.
enum class BinaryOp : std::uint8_t { add, sub, mul, div, dot, copy_lhs, copy_rhs };

/// How the messages of one destination become its result.
enum class ReduceOp : std::uint8_t { sum, mean, max, min, prod };

/// Where an operand has its rows: one for each source, destination or edge.
enum class Target : std::uint8_t { source, destination, edge };

/// How a reduction over the rows of a graph is shared out. It never changes a result, not even its last bit.
enum class Strategy : std::uint8_t {
  automatic,   ///< chosen by sizes: of the rows, the features and the largest rows
  serial,      ///< everything on the calling thread
  rows,        ///< chunks of whole rows with about equally many edges
  split_rows,  ///< the same, but rows with very many edges are reduced in splits, which are merged in order
  features,    ///< chunks of rows times blocks of features, for very wide features
};

/// The name in JSON and error messages: "mul", "sum", "source", "rows".
std::string_view name_of(BinaryOp op);
std::string_view name_of(ReduceOp op);
std::string_view name_of(Target target);
std::string_view name_of(Strategy strategy);

/// Options of message_reduce, see bough/mp/message_reduce.h.
struct MessageReduceOptions {
  double empty_value = 0;                   ///< what a destination without in-edges gets
  Strategy strategy = Strategy::automatic;  ///< on the CPU
};

}  // namespace bough
