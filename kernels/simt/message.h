#pragma once

#include <cstdint>
#include <span>

#include "bough/detail/mp/features.h"
#include "bough/detail/simt/message_features.h"
#include "bough/mp/functors.h"
#include "bough/mp/operators.h"

/// Messages of edges as kernels compute them: the operators of bough/mp/functors.h on operands that broadcast.
namespace bough::simt {

/// op(lhs, rhs) for every feature of an edge, and which element of the result a feature goes to.
template <typename T>
struct MessageView {
  BinaryOp op = BinaryOp::copy_lhs;  ///< never copy_rhs
  MessageOperand<T> lhs, rhs;
  const std::int32_t* arg_indices = nullptr;  ///< laid out as lhs; if given, lhs counts only for the selected edge
  MessageFeatures features;

  BOUGH_DEVICE bool reads(mp::End end) const {
    return lhs.end == end || (rhs.rows != nullptr && rhs.end == end) ||
           (arg_indices != nullptr && end == mp::End::edge);
  }

  /// The message of one feature.
  template <typename Context>
  BOUGH_DEVICE T at(Context& context, const mp::EdgeRows& edge, std::int64_t outer_index,
                    std::int64_t inner_index) const {
    const std::int64_t left_place = lhs.place(context, edge, outer_index, inner_index);
    T left = context.load(lhs.rows + left_place);
    if (arg_indices != nullptr && context.load(arg_indices + left_place) != static_cast<std::int32_t>(edge.number[2])) {
      left = 0;
    }
    if (rhs.rows == nullptr) return left;
    const T right = context.load(rhs.rows + rhs.place(context, edge, outer_index, inner_index));
    switch (op) {
      case BinaryOp::add:
        return mp::Add{}(left, right);
      case BinaryOp::sub:
        return mp::Subtract{}(left, right);
      case BinaryOp::div:
        return mp::Divide{}(left, right);
      default:
        return mp::Multiply{}(left, right);
    }
  }
};

/// What a launch is asked for. The layout's operands are the operands, then the result.
template <typename T>
struct MessageCall {
  BinaryOp op = BinaryOp::copy_lhs;
  const T* lhs = nullptr;
  mp::End lhs_end = mp::End::edge;
  const T* rhs = nullptr;
  mp::End rhs_end = mp::End::edge;
  const std::int32_t* arg_indices = nullptr;
  const mp::FeatureLayout* layout = nullptr;
};

/// The view of a call, with the offsets of its layout where kernels can read them.
template <typename Queue, typename T>
class UploadedMessage {
 public:
  UploadedMessage(Queue& queue, const MessageCall<T>& call)
      : lhs_offsets_(upload(queue, call, 0)),
        rhs_offsets_(upload(queue, call, call.rhs == nullptr ? 0 : 1)),
        result_offsets_(upload(queue, call, call.layout->operands.size() - 1)) {
    const auto operand = [&](const T* rows, mp::End end, std::size_t number, const std::int64_t* offsets) {
      const mp::FeatureLayout::Operand& features = call.layout->operands[number];
      return MessageOperand<T>{rows, end, features.width, features.step, offsets};
    };
    const mp::FeatureLayout::Operand& result = call.layout->operands.back();
    view_ = {.op = call.op,
             .lhs = operand(call.lhs, call.lhs_end, 0, lhs_offsets_.data()),
             .rhs = operand(call.rhs, call.rhs_end, call.rhs == nullptr ? 0 : 1, rhs_offsets_.data()),
             .arg_indices = call.arg_indices,
             .features = {.outer = call.layout->outer,
                          .inner = call.layout->inner,
                          .width = result.width,
                          .sums_inner = result.step == 0,
                          .result_offsets = result.distinct ? nullptr : result_offsets_.data()}};
  }

  const MessageView<T>& view() const { return view_; }

 private:
  using Offsets = decltype(std::declval<Queue&>().upload(std::span<const std::int64_t>()));

  static Offsets upload(Queue& queue, const MessageCall<T>& call, std::size_t operand) {
    return queue.upload(std::span<const std::int64_t>(call.layout->operands[operand].offsets));
  }

  Offsets lhs_offsets_, rhs_offsets_, result_offsets_;
  MessageView<T> view_;
};

}  // namespace bough::simt
