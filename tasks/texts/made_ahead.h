#pragma once

#include <functional>
#include <future>
#include <map>
#include <utility>

#include "bough/core/parallel.h"

namespace bough {

/// Makes values on another thread while the one before is in use. What make() gives must depend on the key alone, so
/// that it does not matter who made it when. To be used from one thread. Its destructor waits for what is being made.
///
/// With one thread to compute with, values are made where they are taken. The number of threads says how many cores a
/// run is to use: other cores may belong to runs side by side, or the user asked for one.
template <typename Key, typename Value>
class MadeAhead {
 public:
  /// `make` is called from other threads too.
  explicit MadeAhead(std::function<Value(const Key&)> make) : make_(std::move(make)) {}

  /// The value, waiting for one that is being made. What make() throws comes out here.
  Value take(const Key& key) {
    const auto begun = waiting_.find(key);
    if (begun == waiting_.end()) return make_(key);
    std::future<Value> value = std::move(begun->second);
    waiting_.erase(begun);
    return value.get();
  }
  /// Begins to make a value that will be taken soon, unless there is one thread to compute with.
  void begin(const Key& key) {
    if (num_threads() > 1 && !waiting_.contains(key)) waiting_.emplace(key, std::async(std::launch::async, make_, key));
  }

 private:
  std::function<Value(const Key&)> make_;
  std::map<Key, std::future<Value>> waiting_;
};

}  // namespace bough
