#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace bough {

class Tensor;

/// Room for `size` ids, not initialised: for code that writes every entry itself, possibly from several threads.
class IdBuffer {
 public:
  IdBuffer() = default;
  /// Room for that many ids, not initialised.
  explicit IdBuffer(std::int64_t size)
      : data_(std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(size))), size_(size) {}

  /// The ids, to be filled in.
  std::int64_t size() const { return size_; }
  std::int32_t* data() { return data_.get(); }
  std::span<std::int32_t> span() { return {data_.get(), static_cast<std::size_t>(size_)}; }
  std::span<const std::int32_t> span() const { return {data_.get(), static_cast<std::size_t>(size_)}; }

 private:
  friend class IdArray;
  std::unique_ptr<std::int32_t[]> data_;
  std::int64_t size_ = 0;
};

/// An immutable array of int32 ids whose copies share the elements.
///
/// Whatever holds ids converts to it: a vector or IdBuffer that is moved in is adopted without copying, anything else
/// (vectors by reference, spans, arrays, tensors) is copied once. int64 ids are narrowed; GraphError names the first
/// one that does not fit.
class IdArray {
 public:
  /// What algorithms of the standard library ask for.
  using value_type = std::int32_t;
  using const_iterator = std::span<const std::int32_t>::iterator;

  IdArray() = default;
  /// Takes or copies the ids of any container; see above.
  IdArray(std::vector<std::int32_t>&& ids);
  IdArray(IdBuffer&& ids);
  IdArray(std::initializer_list<std::int32_t> ids) : IdArray(std::span(ids.begin(), ids.size())) {}
  IdArray(std::span<const std::int32_t> ids);
  IdArray(std::span<const std::int64_t> ids);
  template <std::ranges::contiguous_range Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, IdArray> &&
           (std::same_as<std::ranges::range_value_t<Range>, std::int32_t> ||
            std::same_as<std::ranges::range_value_t<Range>, std::int64_t>)) IdArray(const Range& ids)
      : IdArray(std::span<const std::ranges::range_value_t<Range>>(ids)) {}
  /// Copies a tensor on any device. ShapeError unless it has one axis, TypeError unless it holds int32 or int64.
  IdArray(const Tensor& ids);

  /// The ids, as in a container of the standard library.
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  bool empty() const { return values_.empty(); }
  std::int32_t operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  std::span<const std::int32_t> span() const { return values_; }
  const_iterator begin() const { return values_.begin(); }
  const_iterator end() const { return values_.end(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::int32_t> values_;
};

}  // namespace bough
