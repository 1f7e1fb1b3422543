#include "tasks/translation/translator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/ops/reduce.h"
#include "bough/ops/softmax.h"
#include "tasks/texts/batch_order.h"

namespace bough {
namespace {

/// Source tokens that are translated together.
constexpr std::int64_t tokens_at_once = 2048;

/// Drops the oldest tokens of one side, so that at most so many stay.
void keep_last(std::int64_t most, std::vector<std::int32_t>& tokens, std::vector<std::int64_t>& sentences) {
  std::int64_t surplus = std::max<std::int64_t>(0, std::ssize(tokens) - most);
  tokens.erase(tokens.begin(), tokens.begin() + surplus);
  for (std::int64_t& length : sentences) {
    const std::int64_t dropped = std::min(length, surplus);
    length -= dropped;
    surplus -= dropped;
  }
}

/// The sentence in question follows those of its context.
SentenceLengths with_sentence(const SearchRequest& request, std::int64_t target) {
  SentenceLengths lengths = request.context == nullptr ? SentenceLengths{} : request.context->lengths();
  lengths.source.push_back(std::ssize(request.source));
  lengths.target.push_back(target);
  return lengths;
}

}  // namespace

void DocumentContext::clear() {
  lengths_ = {};
  source_.clear();
  target_.clear();
}

void DocumentContext::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target) {
  if (most_ == 0) return;
  source_.insert(source_.end(), source.begin(), source.end());
  target_.insert(target_.end(), target.begin(), target.end());
  lengths_.source.push_back(std::ssize(source));
  lengths_.target.push_back(std::ssize(target));
  keep_last(most_, source_, lengths_.source);
  keep_last(most_, target_, lengths_.target);
  std::size_t gone = 0;
  while (lengths_.source[gone] == 0 && lengths_.target[gone] == 0) ++gone;
  lengths_.source.erase(lengths_.source.begin(), lengths_.source.begin() + static_cast<std::ptrdiff_t>(gone));
  lengths_.target.erase(lengths_.target.begin(), lengths_.target.begin() + static_cast<std::ptrdiff_t>(gone));
}

std::vector<std::vector<TokenHypothesis>> Translator::search(std::span<const SearchRequest> requests,
                                                             const SearchOptions& /*options*/) const {
  const NoGrad no_grad;
  std::vector<std::vector<TokenHypothesis>> found(requests.size());
  std::vector<std::vector<std::int32_t>> targets(requests.size(), {target_->begin()});
  std::vector<bool> ended(requests.size(), false);
  const Device device = graphs_->options().device;
  const auto tensor = [device](const std::vector<std::int32_t>& ids) {
    return Tensor::from_vector(ids, {std::ssize(ids)}).to(device);
  };
  for (std::int64_t length = 1; length <= max_length_; ++length) {
    std::vector<SentenceLengths> lengths;
    std::vector<std::int32_t> source, target;
    std::vector<std::int64_t> last;
    std::int64_t row = -1;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (const DocumentContext* context = requests[i].context) {
        source.insert(source.end(), context->source().begin(), context->source().end());
        target.insert(target.end(), context->target().begin(), context->target().end());
      }
      source.insert(source.end(), requests[i].source.begin(), requests[i].source.end());
      target.insert(target.end(), targets[i].begin(), targets[i].end());
      lengths.push_back(with_sentence(requests[i], length));
      last.push_back(row += length);
    }
    const TranslationGraph graph = graphs_->build(lengths);
    const Tensor scores = model_->forward(graph, tensor(source), tensor(target));
    const std::vector<float> values = scores.to_vector<float>();
    const auto width = static_cast<std::size_t>(scores.size(1));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(last[i]) * width);
      const auto best =
          static_cast<std::int32_t>(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(width)) - begin);
      ended[i] = ended[i] || best == target_->end();
      targets[i].push_back(ended[i] ? target_->end() : best);
    }
    if (std::ranges::all_of(ended, [](bool one) { return one; })) break;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<std::int32_t>& tokens = targets[i];
    tokens.erase(std::ranges::find(tokens, target_->end()), tokens.end());
    tokens.erase(tokens.begin());
    found[i] = {{.tokens = std::move(tokens)}};
  }
  return found;
}

std::vector<std::vector<TokenHypothesis>> Translator::translate(const TokenSentences& source,
                                                                std::span<const std::int32_t> documents,
                                                                const SearchOptions& options,
                                                                DocumentContext& open) const {
  /// Sentences that are translated one after the other.
  struct Document {
    std::int64_t begin, end;
    DocumentContext context;
  };
  std::vector<Document> all;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool begins = i == 0 || open.tokens() == 0 || documents[at] != documents[at - 1];
    if (begins) all.push_back({i, i, i == 0 ? open : DocumentContext(open.tokens())});
    ++all.back().end;
  }
  std::vector<std::vector<TokenHypothesis>> translations(static_cast<std::size_t>(source.size()));
  while (true) {
    std::vector<Document*> next;
    std::vector<std::int64_t> lengths;
    for (Document& document : all) {
      if (document.begin == document.end) continue;
      next.push_back(&document);
      lengths.push_back(std::ssize(source.sentence(document.begin)) + std::ssize(document.context.source()));
    }
    if (next.empty()) break;
    for (const std::vector<std::int32_t>& batch : evaluation_batches(lengths, tokens_at_once)) {
      std::vector<SearchRequest> requests;
      for (const std::int32_t i : batch) {
        const Document& document = *next[static_cast<std::size_t>(i)];
        requests.push_back({source.sentence(document.begin), &document.context});
      }
      auto found = search(requests, options);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        Document& document = *next[static_cast<std::size_t>(batch[i])];
        const std::vector<std::int32_t>& best = found[i].front().tokens;
        std::vector<std::int32_t> read{target_->begin()};
        read.insert(read.end(), best.begin(), best.end());
        document.context.add(source.sentence(document.begin), read);
        translations[static_cast<std::size_t>(document.begin++)] = std::move(found[i]);
      }
    }
  }
  if (!all.empty()) open = std::move(all.back().context);
  return translations;
}

}  // namespace bough
