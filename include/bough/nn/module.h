#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::nn {

/// A part of a model: named parameters (trained), named buffers (kept, not trained), constants (neither) and parts of
/// its own.
///
/// A module lists its members once, in its constructor, with add_parameter, add_buffer, add_constant and add_module;
/// the members stay ordinary members. It therefore stays where it was made: neither copied nor moved.
class Module {
 public:
  /// Tensors with their names.
  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Handles with dotted names ("layer0.attention.output.weight" of a GraphTransformer), in the order of registration:
  /// own ones first, then those of the parts. A parameter that two parts share appears once, under the first name.
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  std::vector<Tensor> parameters() const;
  /// Names, as in named_parameters(), of the weights of projections: neither biases, norms, embeddings, positions nor
  /// relation keys. What weight decay may be limited to. A parameter that two parts share is what the first says.
  std::vector<std::string> weight_matrices() const;
  /// Number of trained elements.
  std::int64_t parameter_count() const;

  /// Dropout and the like act only in training mode, which is where a module starts. Reaches all parts.
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  /// Moves parameters, buffers and constants; gradients are dropped. Handles taken before keep the old tensors.
  void to(Device device);
  void clear_grad();

  /// Copies values into the parameters and buffers of the same names. Everything is checked before anything is written:
  /// a missing, unknown or doubled name is ConfigError, another shape ShapeError, another type TypeError.
  void load_state(const NamedTensors& state);
  /// Parameters, then buffers.
  NamedTensors state() const;

 protected:
  Module() = default;

  /// The tensor becomes a leaf that requires a gradient. Names hold letters, digits and '_', and are unique.
  void add_parameter(const std::string& name, Tensor& parameter);
  /// A parameter that projects, of rank 2 (ShapeError): one of weight_matrices().
  void add_weight_matrix(const std::string& name, Tensor& parameter);
  void add_buffer(const std::string& name, Tensor& buffer);
  /// A tensor that follows from the options: it moves with the module and is no part of its state.
  void add_constant(Tensor& constant);
  void add_module(const std::string& name, Module& part);

 private:
  template <typename Visit>
  void visit_tensors(const std::string& prefix, bool buffers, const Visit& visit) const;
  template <typename Visit>
  void visit_constants(const Visit& visit) const;
  void collect_weight_matrices(const std::string& prefix, std::vector<std::string>& names) const;

  std::vector<std::pair<std::string, Tensor*>> parameters_, buffers_;
  std::vector<std::string> weight_matrices_;  ///< those of parameters_
  std::vector<Tensor*> constants_;
  std::vector<std::pair<std::string, Module*>> parts_;
  bool training_ = true;
};

/// The type of the module, its number of trained elements, and a line with name and shape for each parameter, of more
/// than 24 the first and last twelve:
///
///     bough::nn::Linear with 20 parameters
///       weight [4, 4]
///       bias [4]
std::string to_string(const Module& module);
/// Writes to_string(module).
std::ostream& operator<<(std::ostream& stream, const Module& module);

}  // namespace bough::nn
