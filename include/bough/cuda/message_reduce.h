#pragma once

#include "bough/detail/cuda/launch_body.h"
#include "bough/detail/simt/functor_loops.h"
#include "bough/mp/message_reduce.h"

/// message_reduce on a GPU, in files that nvcc compiles.
namespace bough::cuda {

/// Starts kernels of message_reduce.
class FunctorQueue {
 public:
  /// Serves one GPU.
  explicit FunctorQueue(int device) : device_(device) {}

  /// Starts the body on the GPU.
  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    launch_body(device_, launch, body);
  }

 private:
  int device_;
};

/// The loops of message_reduce with kernels of this file's functors.
template <typename Message, typename Reduce, std::size_t N>
using FunctorLoops = simt::FunctorLoops<FunctorQueue, Message, Reduce, N>;

/// bough::message_reduce with functors of the user's own, for operands on a GPU; those on the CPU go there.
///
/// Every function of the functors is marked BOUGH_HOST_DEVICE (bough/mp/functors.h has it); nvcc is called with
/// -std=c++20 --expt-relaxed-constexpr. A warp takes the messages of a destination, its lanes neighbouring features;
/// gradients run on the GPU too. Sums are made in the same order in every run, but not in that of the CPU.
///
///     struct Distance {
///       template <typename T> BOUGH_HOST_DEVICE T operator()(T u, T v) const { return (u - v) * (u - v); }
///     };
///     const Tensor there = x.to(Device::cuda());
///     Tensor out = cuda::message_reduce<Distance, mp::Sum>(graph, {.source = there, .destination = there});
template <typename Message, typename Reduce = mp::Sum>
Tensor message_reduce(const Graph& graph, const MessageOperands& operands, const MessageReduceOptions& options = {},
                      const Message& message = {}, const Reduce& reduce = {}) {
  mp::PassOperands checked("message_reduce", graph, operands.source, operands.destination, operands.edge);
  if (checked.device() == Device::cpu()) {
    return mp::reduced_messages<mp::HostLoops>(graph, std::move(checked), options, message, reduce);
  }
  return mp::reduced_messages<FunctorLoops>(graph, std::move(checked), options, message, reduce);
}

}  // namespace bough::cuda
