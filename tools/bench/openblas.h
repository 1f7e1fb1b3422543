#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bough::bench {

/// The threaded OpenBLAS of this machine, loaded at run time so that bough itself does not depend on it.
class OpenBlas {
 public:
  /// Empty where there is none with threads. Uses as many threads as bough.
  static std::optional<OpenBlas> find();

  /// "OpenBLAS SkylakeX": with the kernels it runs on.
  const std::string& name() const { return name_; }

  struct Operand {
    const float* data;
    bool transposed;
  };
  /// c [m, n] = a b; an operand given transposed is [k, m] or [n, k].
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Operand a, Operand b, float* c) const;

 private:
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

  OpenBlas(std::shared_ptr<void> library, Sgemm sgemm, std::string name)
      : library_(std::move(library)), sgemm_(sgemm), name_(std::move(name)) {}

  std::shared_ptr<void> library_;
  Sgemm sgemm_;
  std::string name_;
};

}  // namespace bough::bench
