#include "tasks/texts/cached_generator.h"

#include <utility>

namespace bough {
namespace {

std::int64_t bytes_of_graph(const AttentionGraph& graph) {
  std::int64_t bytes = graph.graph.memory_bytes();
  for (const std::vector<Graph>* parts : {&graph.head_groups, &graph.stages}) {
    for (const Graph& part : *parts) bytes += part.memory_bytes();
  }
  const std::size_t of_a_node = sizeof(std::int32_t) + sizeof(NodeKind) + sizeof(TokenRange);
  return bytes + static_cast<std::int64_t>(graph.kinds.size() * of_a_node +
                                           (graph.tokens.size() + graph.readout.size()) * sizeof(std::int32_t));
}

}  // namespace

CachedGenerator::CachedGenerator(std::shared_ptr<const GraphGenerator> generator, std::int64_t bytes)
    : generator_(std::move(generator)), most_bytes_(bytes) {}

AttentionGraph CachedGenerator::build(const BuildOptions& options) const {
  if (!options.sentences.empty() || !options.source_sentences.empty() || options.past)
    return generator_->build(options);
  const Key key{options.length, options.causal};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = places_.find(key); known != places_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return entries_.front().graph;
    }
  }
  AttentionGraph graph = generator_->build(options);
  graph.graph.csc();  // counts as part of the graph, and is needed by all that is made of it
  const std::int64_t bytes = bytes_of_graph(graph);
  const std::lock_guard lock(mutex_);
  if (bytes > most_bytes_ || places_.contains(key)) return graph;
  entries_.push_front({key, graph, bytes});
  places_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return graph;
}

std::int64_t CachedGenerator::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::int64_t CachedGenerator::graphs() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(entries_);
}

}  // namespace bough
