#include "tasks/translation/translator.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/graph/graph_generator.h"
#include "tasks/texts/batch_order.h"

namespace bough {
namespace {

/// Source tokens that are translated together.
constexpr std::int64_t tokens_at_once = 2048;
/// How many more tokens than its source a translation may have.
constexpr std::int64_t longer_than_source = 50;

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

Translator::Decoding::Decoding(const TranslationModel& model, PackedLinear& output, AttentionGraph graph)
    : decoder(model.decoder(), std::move(graph)),
      scorer(
          decoder,
          [&model](const Tensor& tokens, const Tensor& positions) { return model.embed_target(tokens, positions); },
          [&output](const Tensor& states) { return output.forward(states); }) {}

Translator::Translator(const TranslationModel& model, const TranslationGraphBuilder& graphs,
                       const SentenceTokens& target, std::int64_t context, std::int64_t max_length)
    : model_(&model),
      graphs_(&graphs),
      target_(&target),
      max_length_(max_length),
      cross_(generators().make("cross")),
      output_({model.output_part()}),
      longest_(model, output_, graphs.build_target(std::array{context + max_length})) {}

void Translator::begin(std::span<const SearchRequest> requests, Decoding& decoding) {
  decoding.decoder.clear();  // of a search that ended with an error
  std::vector<SentenceLengths> lengths;
  std::vector<std::int32_t> source;
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::int64_t> rows;
  bool have_context = false;
  for (const SearchRequest& request : requests) {
    lengths.push_back(with_sentence(request, max_length_));
    prompts.emplace_back();
    if (request.context != nullptr) {
      const std::vector<std::int32_t>& before = request.context->source();
      source.insert(source.end(), before.begin(), before.end());
      prompts.back() = request.context->target();
      have_context |= !before.empty() || !prompts.back().empty();
    }
    source.insert(source.end(), request.source.begin(), request.source.end());
    rows.push_back(std::reduce(lengths.back().source.begin(), lengths.back().source.end()));
  }
  const Tensor tokens = Tensor::from_vector(source, {std::ssize(source)}).to(decoding.decoder.device());
  const Tensor encoded = model_->encode(graphs_->build_source(lengths), tokens);
  if (!have_context) return decoding.decoder.add_sources(encoded, rows);

  // Tokens of the context attend to the source of their own sentences, those to come to that of the last one.
  decoding.decoder.add_sources(encoded.rows(0, 0), std::vector<std::int64_t>(requests.size(), 0));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BuildOptions positions{.sentences = lengths[i].target, .source_sentences = lengths[i].source};
    positions.length = std::reduce(positions.sentences.begin(), positions.sentences.end());
    const AttentionGraph cross = cross_->build(positions);
    decoding.decoder.set_source(static_cast<std::int64_t>(i), encoded.rows(begin, begin + rows[i]), cross.graph);
    begin += rows[i];
  }
  decoding.scorer.read(prompts);
}

std::vector<std::vector<TokenHypothesis>> Translator::search(std::span<const SearchRequest> requests,
                                                             const SearchOptions& options) {
  if (!graphs_->decoder_reads_sentences()) return search(requests, options, longest_);
  // The graph of a target depends on where the sentences of its context end, so equal ones go together.
  std::map<std::vector<std::int64_t>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    alike[with_sentence(requests[i], max_length_).target].push_back(i);
  }
  std::vector<std::vector<TokenHypothesis>> results(requests.size());
  for (const auto& [sentences, places] : alike) {
    std::vector<SearchRequest> own;
    for (const std::size_t place : places) own.push_back(requests[place]);
    Decoding decoding(*model_, output_, graphs_->build_target(sentences));
    auto found = search(own, options, decoding);
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
  }
  return results;
}

std::vector<std::vector<TokenHypothesis>> Translator::search(std::span<const SearchRequest> requests,
                                                             const SearchOptions& options, Decoding& decoding) {
  if (requests.empty()) return {};
  const NoGrad no_grad;
  begin(requests, decoding);
  nn::SearchLimits limits{.end_of_sentence = target_->end(), .max_length = max_length_ - 1};
  for (const SearchRequest& request : requests) {
    limits.max_lengths.push_back(std::min(limits.max_length, std::ssize(request.source) + longer_than_source));
  }
  const std::vector<std::int32_t> first(requests.size(), target_->begin());
  std::vector<std::vector<nn::Hypothesis>> found;
  if (options.beam == 1) {
    for (nn::Hypothesis& one : nn::greedy_search(decoding.scorer, first, limits)) found.push_back({std::move(one)});
  } else {
    found = nn::beam_search(decoding.scorer, first,
                            {.width = options.beam,
                             .n_best = options.nbest,
                             .length_penalty = nn::LengthPenalty::gnmt,
                             .alpha = options.length_penalty,
                             .limits = limits});
  }
  std::vector<std::vector<TokenHypothesis>> results(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (nn::Hypothesis& one : found[i]) results[i].push_back({.tokens = std::move(one.tokens), .score = one.score});
  }
  return results;
}

std::vector<std::vector<TokenHypothesis>> Translator::translate(const TokenSentences& source,
                                                                std::span<const std::int32_t> documents,
                                                                const SearchOptions& options, DocumentContext& open) {
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
