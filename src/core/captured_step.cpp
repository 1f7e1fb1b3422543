#include "bough/core/captured_step.h"

#include "bough/core/random.h"
#include "src/core/recording.h"
#include "src/core/tensor_body.h"

namespace bough {

struct CapturedStep::State {
  Device device;
  std::function<std::vector<Tensor>()> step;
  std::vector<Tensor> leaves;
  bool ran = false;
  Tensor random_shift = {};        ///< int64 on the device: how far the streams of a replay are from the recorded ones
  RandomStream first_stream = {};  ///< the generator when the step was recorded
  std::uint64_t num_streams = 0;   ///< that it takes
  std::vector<Tensor> results = {}, gradients = {};  ///< gradients of leaves; undefined where there is none
  std::unique_ptr<Recording> recording = {};         ///< goes first: nothing may be replayed into memory of the others

  void call() {
    results = step();
    for (Tensor& result : results) result = result.detach();
  }

  void record() {
    if (!random_shift.defined()) random_shift = zeros({1}, DType::int64, device);
    first_stream = default_generator().state();
    auto fresh =
        std::make_unique<Recording>(device.index, reinterpret_cast<const std::uint64_t*>(random_shift.body()->bytes()));
    try {
      call();
      gradients.clear();
      for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
      fresh->finish();
    } catch (...) {
      for (Tensor& leaf : leaves) leaf.clear_grad();  // nobody has computed them
      default_generator().set_state(first_stream);
      throw;
    }
    recording = std::move(fresh);
    num_streams = default_generator().state().stream - first_stream.stream;
    default_generator().set_state(first_stream);  // nothing has been drawn yet
  }

  void replay() {
    const RandomStream now = default_generator().state();
    const auto shift = static_cast<std::int64_t>(now.stream - first_stream.stream);
    cuda_fill(device.index, random_shift.body()->bytes(), &shift, sizeof(shift), 1);
    recording->replay();
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
  if (state.recording == nullptr || other_seed) state.record();
  state.replay();
  return state.results;
}

bool CapturedStep::captured() const { return state_->recording != nullptr; }

}  // namespace bough
