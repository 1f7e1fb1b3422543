#pragma once

#include <atomic>
#include <mutex>
#include <optional>

namespace bough {

/// A value made when first asked for. Any number of threads may ask; one makes it, the others wait. If making throws,
/// the next one tries again.
template <typename T>
class Lazy {
 public:
  template <typename Make>
  const T& get(Make&& make) const {
    if (const T* value = ready_.load(std::memory_order_acquire)) return *value;
    const std::lock_guard lock(mutex_);
    if (!value_) {
      value_.emplace(make());
      ready_.store(&*value_, std::memory_order_release);
    }
    return *value_;
  }

  /// The value if it exists already.
  const T* peek() const { return ready_.load(std::memory_order_acquire); }

  /// Before the owner is shared.
  void set(T value) {
    value_.emplace(std::move(value));
    ready_.store(&*value_, std::memory_order_release);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;
  mutable std::atomic<const T*> ready_ = nullptr;
};

}  // namespace bough
