#include "bough/core/captured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "src/core/captured_graph.h"
#include "src/core/tensor_body.h"

namespace bough {

struct CapturedStep::State {
  Device device;
  std::function<std::vector<Tensor>()> step;
  std::vector<Tensor> leaves;
  bool ran = false;
  RandomStream first_stream = {};                    ///< the generator when the step was captured
  std::uint64_t num_streams = 0;                     ///< that it takes
  std::vector<Tensor> results = {}, gradients = {};  ///< gradients of leaves; undefined where there is none
  std::unique_ptr<CapturedGraph> graph = {};         ///< goes first: nothing may be replayed into memory of the others

  void call() {
    results = step();
    for (Tensor& result : results) result = result.detach();
  }

  void capture() {
    first_stream = default_generator().state();
    auto fresh = std::make_unique<CapturedGraph>(device.index);
    try {
      call();
      gradients.clear();
      for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
      fresh->finish();
    } catch (...) {
      for (Tensor& leaf : leaves) leaf.clear_grad();  // the capture computed nothing
      default_generator().set_state(first_stream);
      throw;
    }
    graph = std::move(fresh);
    num_streams = default_generator().state().stream - first_stream.stream;
    default_generator().set_state(first_stream);  // nothing has been drawn yet
  }

  void replay() {
    const RandomStream now = default_generator().state();
    graph->replay(now.stream - first_stream.stream);
    default_generator().set_state({now.seed, now.stream + num_streams});
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (gradients[i].defined()) leaves[i].set_grad(gradients[i]);
    }
  }
};

CapturedStep::CapturedStep(Device device, std::function<std::vector<Tensor>()> step, std::vector<Tensor> leaves)
    : state_(new State{.device = device, .step = std::move(step), .leaves = std::move(leaves)}) {}

CapturedStep::~CapturedStep() = default;

const std::vector<Tensor>& CapturedStep::run() {
  State& state = *state_;
  for (Tensor& leaf : state.leaves) leaf.clear_grad();
  if (state.device.kind == Device::Kind::cpu || !state.ran) {
    state.call();
    state.ran = true;
    return state.results;
  }
  const bool other_seed = default_generator().state().seed != state.first_stream.seed;
  if (state.graph == nullptr || other_seed) state.capture();
  state.replay();
  return state.results;
}

Tensor changing_numbers(Device device, std::int64_t count, std::function<void(std::span<double>)> now) {
  const auto size = static_cast<std::size_t>(count);
  if (size >= most_written_words) {
    throw ConfigError("changing_numbers", fmt::format("there can be up to {}, not {}", most_written_words - 1, count));
  }
  Tensor result = Tensor::empty({count}, DType::float64, device);
  std::byte* target = result.body()->bytes();
  if (CapturedGraph* graph = CapturedGraph::current_on(device)) {
    const double* source = graph->changing(size, std::move(now));
    cuda_copy(device.index, target, source, size * sizeof(double), CopyDirection::device_to_device);
    return result;
  }
  std::vector<double> numbers(size);
  now(numbers);
  if (device.kind == Device::Kind::cpu) {
    std::ranges::copy(numbers, result.data<double>());
  } else {
    std::vector<std::uint64_t> words(size);
    std::ranges::transform(numbers, words.begin(), [](double number) { return std::bit_cast<std::uint64_t>(number); });
    cuda_write(device.index, reinterpret_cast<std::uint64_t*>(target), words);
  }
  return result;
}

bool CapturedStep::captured() const { return state_->graph != nullptr; }

}  // namespace bough
