#pragma once

#include <cstdint>
#include <string>

#include "bough/core/errors.h"
#include "bough/detail/simt/context.h"
#include "kernels/attention/simt/fragment.h"
#include "kernels/attention/views.h"

/// What all kernels of graph attention share: which of them takes a call, and which weights dropout takes.
namespace bough::simt {

/// Packs that are 16 bytes when they are computed with.
template <typename T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(AccumType<std::remove_const_t<T>>));

/// row_max and row_sum of a split stand before its sums, which begin at a pack.
template <typename T>
inline constexpr std::int64_t partial_header = pack_size<T>;

/// Whether every vector of the rows begins at a pack.
template <typename T>
bool in_packs(const HeadRows<T>& rows) {
  const auto address = reinterpret_cast<std::uintptr_t>(rows.data);
  return address % (pack_size<T> * sizeof(T)) == 0 && rows.row_stride % pack_size<T> == 0 &&
         rows.head_stride % pack_size<T> == 0;
}

/// Whether every vector that a kernel reads, and those that it writes, is made of whole packs.
template <typename T, typename... Written>
bool vectors_in_packs(const AttentionInputs<T>& in, const HeadRows<Written>&... written) {
  const bool packs = in.width % pack_size<T> == 0 && in.value_width % pack_size<T> == 0 && in_packs(in.q) &&
                     in_packs(in.k) && in_packs(in.v) && in_packs(in.relation_keys) && in_packs(in.relation_values);
  return packs && (in_packs(written) && ...);
}

/// Calls f(Share) with whole warps that read single numbers, neighbours for neighbours. DeviceError above 256.
template <typename F>
void with_whole_warps(const char* where, std::int64_t width, const F& f) {
  using Wide = Share<32, 4, 1>;
  using Widest = Share<32, 8, 1>;
  if (width <= Wide::most_features) return f(Wide{});
  if (width <= Widest::most_features) return f(Widest{});
  throw DeviceError(where, "takes heads of up to " + std::to_string(Widest::most_features) +
                               " features on a GPU, these have " + std::to_string(width) +
                               "; use more heads, or Device::cpu()");
}

/// Calls f(Share) for the widths of the vectors: small groups that read packs where everything is aligned, whole warps
/// otherwise. `written` are vectors that the kernel writes. DeviceError above 256.
template <typename T, typename F, typename... Written>
void with_share(const char* where, const AttentionInputs<T>& in, const F& f, const HeadRows<Written>&... written) {
  const std::int64_t width = in.width > in.value_width ? in.width : in.value_width;
  const bool packs = vectors_in_packs(in, written...);
  using Narrow = Share<8, 8, pack_size<T>>;
  using Middle = Share<16, 8, pack_size<T>>;
  if (packs && width <= Narrow::most_features) return f(Narrow{});
  if (packs && width <= Middle::most_features) return f(Middle{});
  with_whole_warps(where, width, f);
}

/// Whether an edge keeps its weight: AttentionDropout::keeps, with the random numbers of this replay if the launch is
/// part of a captured step.
template <typename Context>
BOUGH_DEVICE bool keeps_weight(Context& context, AttentionDropout dropout, std::int32_t src, std::int32_t dst,
                               std::int64_t head, std::uint32_t ordinal) {
  if (dropout.stream_shift != nullptr) dropout.stream.stream += context.load(dropout.stream_shift);
  return dropout.keeps(src, dst, head, ordinal);
}

}  // namespace bough::simt
