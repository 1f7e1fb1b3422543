// Springs: nodes on a line find places where every spring between two of them has its length. The energy of a spring is
// a functor of this file, which nvcc compiles into bough's kernels; without a GPU it runs on the CPU.
#include <bough/cuda/message_reduce.h>
#include <bough/nn/optimizer.h>
#include <bough/ops/reduce.h>

#include <cstdio>

struct Energy {
  BOUGH_HOST_DEVICE float operator()(float from, float to, float length) const {
    return (to - from - length) * (to - from - length);
  }
  BOUGH_HOST_DEVICE std::array<float, 3> gradient(float from, float to, float length) const {
    const float slope = 2 * (to - from - length);
    return {-slope, slope, -slope};
  }
};

int main() {
  const bough::Device device = bough::Device::cuda_if_available();
  // Lengths that fit: 0 --2-- 1 --3-- 2 --1-- 3, and 5 from 0 to 2, 4 from 1 to 3.
  const bough::Graph springs = bough::Graph::from_edges({0, 1, 2, 0, 1}, {1, 2, 3, 2, 3}, {.num_nodes = 4});
  const bough::Tensor lengths = bough::Tensor::from_vector<float>({2, 3, 1, 5, 4}, {5, 1}).to(device);
  bough::Tensor places = bough::zeros({4, 1}, bough::DType::float32, device).set_requires_grad(true);
  bough::nn::Sgd optimizer({{"places", places}}, {.learning_rate = 0.1});

  double energy = 0;
  for (int step = 0; step < 200; ++step) {
    optimizer.clear_grad();
    const bough::Tensor loss = bough::sum(bough::cuda::message_reduce<Energy, bough::mp::Sum>(
        springs, {.source = places, .destination = places, .edge = lengths}));
    energy = loss.item<double>();
    loss.backward();
    optimizer.step();
  }
  std::printf("energy %.2g on %s, places", energy, to_string(device).c_str());
  for (const float place : places.to_vector<float>()) std::printf(" %.2f", place);
  std::printf("\n");
  return energy < 1e-8 ? 0 : 1;
}
