#pragma once

namespace bough::nn {

/// What a model keeps of its forward pass for backward (activation checkpointing). Every policy gives the same results
/// and gradients, bit for bit; they trade memory for time. In JSON: "activations".
enum class ActivationPolicy {
  /// recompute_cheap where a layer updates more nodes than there are tokens and all of it would take more than 64 MiB,
  /// so that a graph with many nodes needs no more memory than a transformer over its tokens; save_all elsewhere, and
  /// where a model runs on a graph whose tokens it does not know.
  automatic,
  /// Everything that backward needs.
  save_all,
  /// Only what cannot be computed again quickly: of a post-norm layer five rows of its width a node, instead of eight
  /// and the hidden layer of its feed-forward part. Backward computes norms, attention and hidden layer a second time,
  /// value by value: see recompute_value.
  recompute_cheap,
  /// Only the input of each layer, which backward runs a second time: see recompute. The model must live until
  /// backward is done, in the same mode (Module::train).
  checkpoint_layers,
};

}  // namespace bough::nn
