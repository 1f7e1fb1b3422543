#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include "bough/core/bfloat16.h"
#include "bough/core/errors.h"

namespace bough {

/// Element types of tensors. bfloat16 is for storing: it is created, copied, arranged, cast, added up as a gradient and
/// taken by graph_attention; all other operations refuse it with a TypeError.
enum class DType : std::uint8_t { float32, float64, int32, int64, boolean, bfloat16 };

/// Names a C++ type as a value, so that a generic lambda can receive it.
template <typename T>
struct TypeTag {
  using type = T;  ///< the type itself
};

/// The element type of tensors that hold T.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::int32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::int64;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DType::bfloat16;
  else {
    static_assert(std::is_same_v<T, bool>,
                  "tensors hold float, double, std::int32_t, std::int64_t, bool or bfloat16; convert to one of these");
    return DType::boolean;
  }
}

/// A C++ type that tensors hold. Others stop the compiler with the sentence of dtype_of.
template <typename T>
concept TensorElement = (static_cast<void>(dtype_of<T>()), true);

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return sizeof(float);
    case DType::float64:
      return sizeof(double);
    case DType::int32:
      return sizeof(std::int32_t);
    case DType::int64:
      return sizeof(std::int64_t);
    case DType::boolean:
      return sizeof(bool);
    case DType::bfloat16:
      return sizeof(bfloat16);
  }
  return 0;
}

/// "float32", "bool": the name that error messages, NumPy and JSON use.
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::boolean:
      return "bool";
    case DType::bfloat16:
      return "bfloat16";
  }
  return "?";
}

/// name_of(dtype).
std::string to_string(DType dtype);
/// Writes to_string(dtype).
std::ostream& operator<<(std::ostream& stream, DType dtype);

/// Whether it is a floating type, whether it is a signed integer.
constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16;
}
constexpr bool is_integer(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

/// Calls f(TypeTag<T>) with the C++ type of dtype, for operations that compute with all types but bfloat16: TypeError
/// naming the operation for that.
template <typename F>
decltype(auto) visit_all_but_bfloat16(std::string_view where, DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      return f(TypeTag<double>{});
    case DType::int32:
      return f(TypeTag<std::int32_t>{});
    case DType::int64:
      return f(TypeTag<std::int64_t>{});
    case DType::bfloat16:
      throw TypeError(where, "does not take bfloat16; cast() converts");
    case DType::boolean:
      break;
  }
  return f(TypeTag<bool>{});
}

/// The same for every type.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  if (dtype == DType::bfloat16) return f(TypeTag<bfloat16>{});
  return visit_all_but_bfloat16("visit_dtype", dtype, f);
}

/// Calls f(TypeTag<T>) for float32 and float64; TypeError naming the operation for the rest.
template <typename F>
decltype(auto) visit_floating(std::string_view where, DType dtype, F&& f) {
  if (dtype == DType::float64) return f(TypeTag<double>{});
  if (dtype != DType::float32) {
    throw TypeError(where, "takes float32 or float64, not " + std::string(name_of(dtype)) + "; cast() converts");
  }
  return f(TypeTag<float>{});
}

/// The same with bfloat16.
template <typename F>
decltype(auto) visit_stored_floating(std::string_view where, DType dtype, F&& f) {
  if (dtype == DType::bfloat16) return f(TypeTag<bfloat16>{});
  return visit_floating(where, dtype, f);
}

}  // namespace bough
