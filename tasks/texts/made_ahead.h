#pragma once

#include <functional>
#include <future>
#include <map>
#include <utility>

namespace bough {

/// Makes values on another thread while the one before is in use. What make() gives must depend on the key alone, so
/// that it does not matter who made it when. To be used from one thread.
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
  /// Begins to make a value that will be taken soon.
  void begin(const Key& key) {
    if (!waiting_.contains(key)) waiting_.emplace(key, std::async(std::launch::async, make_, key));
  }
  /// Waits for what is being made, and forgets it.
  void clear() { waiting_.clear(); }

 private:
  std::function<Value(const Key&)> make_;
  std::map<Key, std::future<Value>> waiting_;
};

}  // namespace bough
