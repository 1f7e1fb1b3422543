#include "bough/mp/operators.h"

namespace bough {

std::string_view name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "add";
    case BinaryOp::sub:
      return "sub";
    case BinaryOp::mul:
      return "mul";
    case BinaryOp::div:
      return "div";
    case BinaryOp::dot:
      return "dot";
    case BinaryOp::copy_lhs:
      return "copy_lhs";
    case BinaryOp::copy_rhs:
      return "copy_rhs";
  }
  return "?";
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::mean:
      return "mean";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
    case ReduceOp::prod:
      return "prod";
  }
  return "?";
}

std::string_view name_of(Target target) {
  switch (target) {
    case Target::source:
      return "source";
    case Target::destination:
      return "destination";
    case Target::edge:
      return "edge";
  }
  return "?";
}

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::automatic:
      return "automatic";
    case Strategy::serial:
      return "serial";
    case Strategy::rows:
      return "rows";
    case Strategy::split_rows:
      return "split_rows";
    case Strategy::features:
      return "features";
  }
  return "?";
}

}  // namespace bough
