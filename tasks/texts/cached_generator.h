#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "bough/graph/graph_generator.h"

namespace bough {

/// A pattern that keeps the graphs it has built, those used last, up to so many bytes. May be asked from several
/// threads.
class CachedGenerator final : public GraphGenerator {
 public:
  CachedGenerator(std::shared_ptr<const GraphGenerator> generator, std::int64_t bytes);

  /// Graphs for sentences or a past are not kept.
  AttentionGraph build(const BuildOptions& options) const override;
  std::int64_t num_relations(std::int64_t max_length) const override { return generator_->num_relations(max_length); }
  bool supports_causal() const override { return generator_->supports_causal(); }
  std::optional<std::int64_t> fixed_length() const override { return generator_->fixed_length(); }

  /// Of the graphs that are kept now, about.
  std::int64_t bytes() const;
  std::int64_t graphs() const;

 private:
  struct Key {
    std::int64_t length;
    bool causal;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Key key;
    AttentionGraph graph;
    std::int64_t bytes;
  };

  std::shared_ptr<const GraphGenerator> generator_;
  std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  ///< the one used last comes first
  mutable std::map<Key, std::list<Entry>::iterator> places_;
  mutable std::int64_t bytes_ = 0;
};

}  // namespace bough
