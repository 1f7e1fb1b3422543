#include "tasks/texts/batch_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/random.h"

namespace bough {
namespace {

/// A bucket has at least so many batches, so that few of them are smaller than the others and shuffling it mixes many
/// texts.
constexpr std::int64_t batches_of_a_bucket = 8;
/// Random streams of an epoch, less one.
constexpr std::int64_t most_buckets = 1024;

std::vector<std::int32_t> by_length(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t text) { return lengths[static_cast<std::size_t>(text)]; });
  return order;
}

/// Fisher and Yates; the same on every machine.
template <typename Value>
void shuffle(std::vector<Value>& values, const RandomStream& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    const std::uint64_t drawn = std::uint64_t{random(values.size() - left)} * left >> 32;
    std::swap(values[left - 1], values[drawn]);
  }
}

std::int64_t divided(std::int64_t amount, std::int64_t parts) { return (amount + parts - 1) / parts; }

}  // namespace

BatchOrder::BatchOrder(std::vector<std::int64_t> lengths, BatchOrderOptions options) : seed_(options.seed) {
  if (lengths.empty()) throw ConfigError("batches", "there are no texts to train on");
  const std::int64_t all_tokens = std::reduce(lengths.begin(), lengths.end());
  const auto texts = std::ssize(lengths);
  const std::int64_t batches = options.texts_per_batch ? divided(texts, *options.texts_per_batch)
                                                       : divided(all_tokens, options.tokens_per_batch);
  const std::int64_t buckets =
      std::clamp<std::int64_t>(batches / batches_of_a_bucket, 1, std::min(most_buckets, options.length_buckets));

  const std::vector<std::int32_t> order = by_length(lengths);
  std::size_t begin = 0;
  std::int64_t tokens_before = 0;
  smallest_batch_ = texts;
  for (std::int64_t bucket = 0; bucket < buckets && begin < order.size(); ++bucket) {
    // Buckets have about as many tokens each, or as many texts, as batches have; equal lengths are not divided, so that
    // few lengths occur in two buckets.
    std::int64_t tokens = 0;
    std::size_t end = begin;
    const auto is_full = [&] {
      return options.texts_per_batch ? std::cmp_greater_equal(end, texts * (bucket + 1) / buckets)
                                     : tokens_before + tokens >= all_tokens / buckets * (bucket + 1);
    };
    const auto length_at = [&](std::size_t place) { return lengths[static_cast<std::size_t>(order[place])]; };
    while (end < order.size() &&
           (bucket + 1 == buckets || end == begin || !is_full() || length_at(end) == length_at(end - 1))) {
      tokens += length_at(end++);
    }
    Bucket& made = buckets_.emplace_back();
    made.texts.assign(order.begin() + static_cast<std::ptrdiff_t>(begin),
                      order.begin() + static_cast<std::ptrdiff_t>(end));
    const auto count = std::ssize(made.texts);
    made.batches = std::clamp<std::int64_t>(
        options.texts_per_batch ? divided(count, *options.texts_per_batch) : divided(tokens, options.tokens_per_batch),
        1, count);
    batches_per_epoch_ += made.batches;
    smallest_batch_ = std::min(smallest_batch_, count / made.batches);
    tokens_before += tokens;
    begin = end;
  }
}

std::vector<std::vector<std::int32_t>> BatchOrder::shuffled(std::int64_t epoch) const {
  std::vector<std::vector<std::int32_t>> batches;
  // Streams of an epoch: one for each bucket, the last for the batches.
  const std::uint64_t first_stream = static_cast<std::uint64_t>(epoch) * (most_buckets + 1);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    std::vector<std::int32_t> texts = buckets_[i].texts;
    shuffle(texts, {seed_, first_stream + i});
    const auto count = std::ssize(texts);
    for (std::int64_t batch = 0; batch < buckets_[i].batches; ++batch) {
      batches.emplace_back(texts.begin() + count * batch / buckets_[i].batches,
                           texts.begin() + count * (batch + 1) / buckets_[i].batches);
    }
  }
  shuffle(batches, {seed_, first_stream + most_buckets});
  return batches;
}

std::vector<std::int32_t> BatchOrder::batch(std::int64_t step) const {
  const std::int64_t epoch = (step - 1) / batches_per_epoch_;
  const std::lock_guard lock(mutex_);
  if (known_epoch_ != epoch) {
    known_ = shuffled(epoch);
    known_epoch_ = epoch;
  }
  return known_[static_cast<std::size_t>((step - 1) % batches_per_epoch_)];
}

std::vector<std::int32_t> BatchOrder::batch(const PartOfStep& at, std::int64_t parts) const {
  const std::vector<std::int32_t> texts = batch(at.step);
  const auto count = std::ssize(texts);
  return {texts.begin() + count * at.part / parts, texts.begin() + count * (at.part + 1) / parts};
}

std::vector<std::vector<std::int32_t>> evaluation_batches(const std::vector<std::int64_t>& lengths,
                                                          std::int64_t tokens_per_batch) {
  std::vector<std::vector<std::int32_t>> batches;
  std::int64_t tokens = tokens_per_batch;
  for (const std::int32_t text : by_length(lengths)) {
    const std::int64_t length = lengths[static_cast<std::size_t>(text)];
    if (tokens + length > tokens_per_batch || batches.empty()) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(text);
    tokens += length;
  }
  return batches;
}

}  // namespace bough
