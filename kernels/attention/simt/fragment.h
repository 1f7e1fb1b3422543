#pragma once

#include <cstdint>

#include "bough/core/bfloat16.h"
#include "bough/detail/simt/collective.h"

/// Vectors of features spread over the lanes of a warp.
namespace bough::simt {

/// A group of `Lanes` lanes holds a vector of up to Lanes * Elements features, each lane in packs of `Packed`
/// neighbours; a warp has 32 / Lanes groups, each with a vector of its own. Neighbouring lanes hold neighbouring packs,
/// so that a group reads its vector in whole sectors.
template <int Lanes, int Elements, int Packed>
struct Share {
  static constexpr int lanes = Lanes, elements = Elements, packed = Packed;
  static constexpr int groups = warp_size / Lanes;
  static constexpr int most_features = Lanes * Elements;
};

/// One lane's part of a vector of features; zeros behind its end.
template <typename T, typename ShareOf>
struct Fragment {
  T values[ShareOf::elements] = {};

  BOUGH_DEVICE T& operator[](int i) { return values[i]; }
  BOUGH_DEVICE const T& operator[](int i) const { return values[i]; }
};

/// The first feature of pack `pack` of a lane.
template <typename ShareOf, typename Context>
BOUGH_DEVICE std::int64_t first_feature(const Context& context, int pack) {
  return (pack * ShareOf::lanes + context.lane() % ShareOf::lanes) * ShareOf::packed;
}

/// Reads a vector, as the numbers it is computed with, or zeros for a group that is not `active`. `width` is a multiple
/// of the size of packs.
template <typename ShareOf, typename Context, typename T>
BOUGH_DEVICE Fragment<AccumType<T>, ShareOf> load_fragment(Context& context, const T* from, std::int64_t width,
                                                           bool active = true) {
  constexpr int packed = ShareOf::packed;
  Fragment<AccumType<T>, ShareOf> result;
  for (int pack = 0; pack < ShareOf::elements / packed; ++pack) {
    const std::int64_t first = first_feature<ShareOf>(context, pack);
    if (!active || first >= width) continue;
    const auto loaded = context.load(reinterpret_cast<const Pack<T, packed>*>(from + first));
    for (int i = 0; i < packed; ++i) result[pack * packed + i] = loaded.values[i];
  }
  return result;
}

/// Writes factor * fragment. Called by the lanes of one group.
template <typename ShareOf, typename Context, typename T>
BOUGH_DEVICE void store_fragment(Context& context, T* to, std::int64_t width,
                                 const Fragment<AccumType<T>, ShareOf>& fragment, AccumType<T> factor) {
  constexpr int packed = ShareOf::packed;
  for (int pack = 0; pack < ShareOf::elements / packed; ++pack) {
    const std::int64_t first = first_feature<ShareOf>(context, pack);
    if (first >= width) continue;
    Pack<T, packed> stored;
    for (int i = 0; i < packed; ++i) stored.values[i] = static_cast<T>(factor * fragment[pack * packed + i]);
    context.store(reinterpret_cast<Pack<T, packed>*>(to + first), stored);
  }
}

/// Adds factor * fragment to a vector that others add to as well. Called by the lanes of one group.
template <typename ShareOf, typename Context, typename T>
BOUGH_DEVICE void add_fragment(Context& context, T* to, std::int64_t width, const Fragment<T, ShareOf>& fragment,
                               T factor) {
  constexpr int packed = ShareOf::packed;
  for (int i = 0; i < ShareOf::elements; ++i) {
    const std::int64_t feature = first_feature<ShareOf>(context, i / packed) + i % packed;
    if (feature < width) context.atomic_add(to + feature, factor * fragment[i]);
  }
}

/// The product of two vectors of a group; each of its lanes gets it.
template <typename ShareOf, typename Context, typename T>
BOUGH_DEVICE T dot(Context& context, const Fragment<T, ShareOf>& a, const Fragment<T, ShareOf>& b) {
  T sum = 0;
  for (int i = 0; i < ShareOf::elements; ++i) sum += a[i] * b[i];
  return warp_sum(context, sum, ShareOf::lanes);
}

/// target += factor * fragment
template <typename T, typename ShareOf>
BOUGH_DEVICE void add_scaled(Fragment<T, ShareOf>& target, T factor, const Fragment<T, ShareOf>& fragment) {
  for (int i = 0; i < ShareOf::elements; ++i) target[i] += factor * fragment[i];
}

/// Adds up the fragments of all groups of the warp; every group gets the sum.
template <typename ShareOf, typename Context, typename T>
BOUGH_DEVICE void sum_groups(Context& context, Fragment<T, ShareOf>& fragment) {
  for (int distance = ShareOf::lanes; distance < warp_size; distance *= 2) {
    for (int i = 0; i < ShareOf::elements; ++i) fragment[i] += context.shuffle_xor(fragment[i], distance);
  }
}

}  // namespace bough::simt
