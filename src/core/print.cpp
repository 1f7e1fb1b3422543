#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "bough/core/device.h"
#include "bough/core/dtype.h"
#include "bough/core/shape.h"
#include "bough/core/tensor.h"

namespace bough {
namespace {

/// Tensors with more elements are shortened to this many entries at both ends of each axis.
constexpr std::int64_t most_elements = 1000;
constexpr std::int64_t entries_at_an_end = 3;

/// At most 4 digits behind the point, without zeros at the end; very small and very large numbers with an exponent.
std::string number_text(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e6)) return fmt::format("{:.4e}", value);
  std::string text = fmt::format("{:.4f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string element_text(const Tensor& values, std::int64_t index) {
  return visit_dtype(values.dtype(), [&]<typename T>(TypeTag<T>) -> std::string {
    const T value = values.data<T>()[index];
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
      return fmt::format("{}", value);
    } else {
      return number_text(static_cast<double>(value));
    }
  });
}

/// Writes the elements of a tensor on the CPU as nested lists.
class ElementWriter {
 public:
  explicit ElementWriter(const Tensor& values) : values_(values), shortened_(values.elements() > most_elements) {
    if (values.rank() > 1) measure(0, 0);
  }

  /// `indent` is the number of columns in front of the first bracket.
  std::string text(int indent) const {
    if (values_.elements() == 0) return "[]";
    std::string text;
    write(0, 0, indent, text);
    return text;
  }

 private:
  /// Calls each(position, whether entries are left out in front of it) for the entries of an axis that are written.
  template <typename Each>
  void for_each_entry(int axis, const Each& each) const {
    const std::int64_t extent = values_.size(axis);
    const bool short_axis = !shortened_ || extent <= 2 * entries_at_an_end;
    for (std::int64_t i = 0; i < extent; ++i) {
      const bool gap = !short_axis && i == entries_at_an_end;
      if (gap) i = extent - entries_at_an_end;
      each(i, gap);
    }
  }

  void measure(int axis, std::int64_t offset) {
    if (axis == values_.rank()) {
      width_ = std::max(width_, element_text(values_, offset).size());
      return;
    }
    for_each_entry(axis, [&](std::int64_t i, bool) { measure(axis + 1, offset * values_.size(axis) + i); });
  }

  void write(int axis, std::int64_t offset, int indent, std::string& text) const {
    if (axis == values_.rank()) {
      text += fmt::format("{:>{}}", element_text(values_, offset), width_);
      return;
    }
    // Rows stand below each other, with an empty line between matrices.
    const int axes_below = values_.rank() - axis - 1;
    const std::string separator =
        axes_below == 0 ? ", " : fmt::format(",{:\n>{}}{:>{}}", "", axes_below, "", indent + 1);
    text += '[';
    for_each_entry(axis, [&](std::int64_t i, bool gap) {
      if (i > 0) text += separator;
      if (gap) text += "..." + separator;
      write(axis + 1, offset * values_.size(axis) + i, indent + 1, text);
    });
    text += ']';
  }

  const Tensor& values_;
  bool shortened_;
  std::size_t width_ = 0;
};

}  // namespace

std::string to_string(DType dtype) { return std::string(name_of(dtype)); }

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "tensor(undefined)";
  const std::string prefix = "tensor(";
  const Tensor values = tensor.detach().to(Device::cpu());
  std::string text = prefix + ElementWriter(values).text(static_cast<int>(prefix.size()));
  if (tensor.rank() > 0) text += ", shape=" + to_string(tensor.shape());
  text += ", dtype=" + to_string(tensor.dtype());
  if (tensor.device() != Device::cpu()) text += ", device=" + to_string(tensor.device());
  return text + ')';
}

std::ostream& operator<<(std::ostream& stream, Device device) { return stream << to_string(device); }
std::ostream& operator<<(std::ostream& stream, DType dtype) { return stream << name_of(dtype); }
std::ostream& operator<<(std::ostream& stream, const Shape& shape) { return stream << to_string(shape); }
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) { return stream << to_string(tensor); }

}  // namespace bough
