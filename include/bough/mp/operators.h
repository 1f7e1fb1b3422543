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

std::string_view name_of(BinaryOp op);
std::string_view name_of(ReduceOp op);
std::string_view name_of(Target target);

}  // namespace bough
