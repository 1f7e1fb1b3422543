#pragma once

#include <cstdint>

#include "kernels/attention/views.h"
#include "kernels/scratch.h"

namespace bough {

/// A set of relation gradients for each of several tasks, added up in the order of the tasks at the end: the same sum
/// for any number of threads.
template <typename T>
class RelationGradients {
 public:
  /// Tables like those of `target`, whose first num_relations rows are meant.
  RelationGradients(const RelationTables<T>& target, std::int64_t num_relations, std::int64_t heads);

  /// How many tasks may have tables of their own before these take too much memory.
  std::int64_t most_tasks() const;
  /// To be called before the first start.
  void set_num_tasks(std::int64_t num_tasks);
  /// The tables of one task, set to zero.
  RelationTables<T> start(std::int64_t task) const;
  /// Adds all tables to the target.
  void finish() const;

 private:
  RelationTables<T> target_;
  RelationTables<T> task_tables_;  ///< those of task 0; the others follow at distance task_size_
  std::int64_t num_relations_, num_tasks_ = 0, task_size_ = 0;
  Scratch<T> memory_;
};

}  // namespace bough
