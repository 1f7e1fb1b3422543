#include "kernels/attention/cpu/relation_gradients.h"

#include <algorithm>
#include <array>

#include "bough/core/parallel.h"

namespace bough {
namespace {

constexpr std::int64_t memory_limit = std::int64_t{48} << 20;

template <typename T>
std::array<HeadRows<T>*, 3> all(RelationTables<T>& tables) {
  return {&tables.keys, &tables.values, &tables.bias};
}

}  // namespace

template <typename T>
RelationGradients<T>::RelationGradients(const RelationTables<T>& target, std::int64_t num_relations, std::int64_t heads)
    : target_(target), task_tables_(target), num_relations_(num_relations) {
  for (HeadRows<T>* table : all(task_tables_)) {
    if (!*table) continue;
    // The target may hold more heads than these; a task's rows do not.
    if (table->head_stride != 0) table->row_stride = heads * table->head_stride;
    task_size_ += num_relations * table->row_stride;
  }
}

template <typename T>
std::int64_t RelationGradients<T>::most_tasks() const {
  const std::int64_t bytes = task_size_ * static_cast<std::int64_t>(sizeof(T));
  return std::clamp<std::int64_t>(memory_limit / std::max<std::int64_t>(1, bytes), 1, 64);
}

template <typename T>
void RelationGradients<T>::set_num_tasks(std::int64_t num_tasks) {
  num_tasks_ = num_tasks;
  memory_ = Scratch<T>(num_tasks * task_size_);
  T* memory = memory_.data();
  for (HeadRows<T>* table : all(task_tables_)) {
    if (!*table) continue;
    table->data = memory;
    memory += num_relations_ * table->row_stride;
  }
}

template <typename T>
RelationTables<T> RelationGradients<T>::start(std::int64_t task) const {
  if (task_size_ == 0) return {};
  T* memory = memory_.data() + task * task_size_;
  std::fill(memory, memory + task_size_, T{0});
  RelationTables<T> tables = task_tables_;
  for (HeadRows<T>* table : all(tables)) {
    if (*table) table->data += task * task_size_;
  }
  return tables;
}

template <typename T>
void RelationGradients<T>::finish() const {
  RelationTables<T> targets = target_, parts = task_tables_;
  for (std::size_t i = 0; i < all(targets).size(); ++i) {
    const HeadRows<T> target = *all(targets)[i], part = *all(parts)[i];
    if (!target) continue;
    parallel_chunks(num_relations_, rows_per_chunk(part.row_stride * num_tasks_),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t row = first; row < last; ++row) {
                        for (std::int64_t task = 0; task < num_tasks_; ++task) {
                          const T* addend = part(row, 0) + task * task_size_;
                          T* sum = target(row, 0);
                          for (std::int64_t j = 0; j < part.row_stride; ++j) sum[j] += addend[j];
                        }
                      }
                    });
  }
}

template class RelationGradients<float>;
template class RelationGradients<double>;

}  // namespace bough
