#pragma once

#include <cstdint>
#include <span>

#include "bough/mp/adjacency.h"
#include "bough/mp/features.h"
#include "bough/mp/functors.h"
#include "bough/mp/operators.h"
#include "kernels/simt/collective.h"
#include "kernels/simt/row_items.h"

/// Messages of edges as kernels compute them: the operators of bough/mp/functors.h on operands that broadcast.
namespace bough::simt {

/// An operand of a message: rows, which row belongs to an edge, and which elements of it to a feature.
template <typename T>
struct MessageOperand {
  const T* rows = nullptr;
  mp::End end = mp::End::edge;
  std::int64_t width = 1;
  std::int64_t step = 1;                  ///< 0 for an operand that lacks the inner axis
  const std::int64_t* offsets = nullptr;  ///< one for each outer feature
};

/// op(lhs, rhs) for every feature of an edge, and which element of the result a feature goes to.
template <typename T>
struct MessageView {
  BinaryOp op = BinaryOp::copy_lhs;  ///< never copy_rhs
  MessageOperand<T> lhs, rhs;
  const std::int32_t* winners = nullptr;  ///< laid out as lhs; if given, lhs counts only for the edge that won
  std::int64_t outer = 1, inner = 1;
  std::int64_t width = 1;                        ///< elements of the result
  bool sums_inner = false;                       ///< whether the inner axis is summed up, as in dot products
  const std::int64_t* result_offsets = nullptr;  ///< null if every outer feature has elements of its own, in order

  BOUGH_DEVICE bool reads(mp::End end) const {
    return lhs.end == end || (rhs.rows != nullptr && rhs.end == end) || (winners != nullptr && end == mp::End::edge);
  }

  /// The row of an edge that an operand reads. Chosen by comparisons: an index known at run time only would put the
  /// numbers into memory.
  BOUGH_DEVICE static std::int64_t row_number(const mp::EdgeRows& edge, mp::End end) {
    const std::int64_t node = end == mp::End::row ? edge.number[0] : edge.number[1];
    return end == mp::End::edge ? edge.number[2] : node;
  }

  /// The message of one feature.
  template <typename Context>
  BOUGH_DEVICE T at(Context& context, const mp::EdgeRows& edge, std::int64_t outer_index,
                    std::int64_t inner_index) const {
    const auto place = [&](const MessageOperand<T>& operand) {
      return row_number(edge, operand.end) * operand.width + context.load(operand.offsets + outer_index) +
             inner_index * operand.step;
    };
    const std::int64_t left_place = place(lhs);
    T left = context.load(lhs.rows + left_place);
    if (winners != nullptr && context.load(winners + left_place) != static_cast<std::int32_t>(edge.number[2])) {
      left = 0;
    }
    if (rhs.rows == nullptr) return left;
    const T right = context.load(rhs.rows + place(rhs));
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

  /// Which features go to an element of the result: found once, because 64-bit divisions are slow.
  struct Element {
    std::int64_t run;          ///< number of the run of the result that it is in
    std::int64_t inner_index;  ///< where in the run; 0 if the inner axis is summed up
  };
  BOUGH_DEVICE Element element(std::int64_t number) const {
    if (sums_inner) return {number, 0};
    const std::int64_t run = number / inner;
    return {run, number - run * inner};
  }

  /// Calls f(outer) for the outer features that go to an element.
  template <typename Context, typename F>
  BOUGH_DEVICE void for_outers_of(Context& context, const Element& element, const F& f) const {
    if (result_offsets == nullptr) return f(element.run);
    const std::int64_t offset = sums_inner ? element.run : element.run * inner;
    for (std::int64_t i = 0; i < outer; ++i) {
      if (context.load(result_offsets + i) == offset) f(i);
    }
  }

  /// The sum over the inner axis, by all lanes of a warp together.
  template <typename Context>
  BOUGH_DEVICE T inner_sum(Context& context, const mp::EdgeRows& edge, std::int64_t outer_index) const {
    T sum = 0;
    for (std::int64_t i = context.lane(); i < inner; i += warp_size) sum += at(context, edge, outer_index, i);
    return warp_sum(context, sum);
  }
};

/// What a launch is asked for. The layout's participants are the operands, then the result.
template <typename T>
struct MessageCall {
  BinaryOp op = BinaryOp::copy_lhs;
  const T* lhs = nullptr;
  mp::End lhs_end = mp::End::edge;
  const T* rhs = nullptr;
  mp::End rhs_end = mp::End::edge;
  const std::int32_t* winners = nullptr;
  const mp::FeatureLayout* layout = nullptr;
};

/// The view of a call, with the offsets of its layout where kernels can read them.
template <typename Queue, typename T>
class UploadedMessage {
 public:
  UploadedMessage(Queue& queue, const MessageCall<T>& call)
      : lhs_offsets_(upload(queue, call, 0)),
        rhs_offsets_(upload(queue, call, call.rhs == nullptr ? 0 : 1)),
        result_offsets_(upload(queue, call, call.layout->participants.size() - 1)) {
    const auto operand = [&](const T* rows, mp::End end, std::size_t number, const std::int64_t* offsets) {
      const mp::FeatureLayout::Participant& features = call.layout->participants[number];
      return MessageOperand<T>{rows, end, features.width, features.step, offsets};
    };
    const mp::FeatureLayout::Participant& result = call.layout->participants.back();
    view_ = {.op = call.op,
             .lhs = operand(call.lhs, call.lhs_end, 0, lhs_offsets_.data()),
             .rhs = operand(call.rhs, call.rhs_end, call.rhs == nullptr ? 0 : 1, rhs_offsets_.data()),
             .winners = call.winners,
             .outer = call.layout->outer,
             .inner = call.layout->inner,
             .width = result.width,
             .sums_inner = result.step == 0,
             .result_offsets = result.distinct ? nullptr : result_offsets_.data()};
  }

  const MessageView<T>& view() const { return view_; }

 private:
  using Offsets = decltype(std::declval<Queue&>().upload(std::span<const std::int64_t>()));

  static Offsets upload(Queue& queue, const MessageCall<T>& call, std::size_t participant) {
    return queue.upload(std::span<const std::int64_t>(call.layout->participants[participant].offsets));
  }

  Offsets lhs_offsets_, rhs_offsets_, result_offsets_;
  MessageView<T> view_;
};

}  // namespace bough::simt
