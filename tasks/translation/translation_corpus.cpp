#include "tasks/translation/translation_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/data/data_path.h"

namespace bough {
namespace {

TableColumns table_columns(const Settings& task) {
  const Settings columns = task.object("columns");
  return {.document = columns.integer("document"),
          .source = columns.optional_integer("source"),
          .target = columns.optional_integer("target")};
}

ParallelText read_split(const Settings& task, const char* key, const std::vector<std::string>& folders) {
  const Settings files = task.object(key);
  const bool table = document_format_of(task) == DocumentFormat::tsv;
  return read_parallel_text(
      {.source = find_data_file(files.string("source"), folders),
       .target = table ? "" : find_data_file(files.string("target"), folders)},
      {.documents = document_format_of(task), .columns = table_columns(task), .skip_bad = task.boolean("skip_bad")});
}

std::string remark_of(const char* key, const ParallelText& text, const Settings& task) {
  std::string remark = fmt::format("{}: {} sentence pairs", key, text.num_sentences());
  if (document_format_of(task) != DocumentFormat::none) remark += fmt::format(" in {} documents", text.num_documents());
  if (text.skipped > 0) remark += fmt::format(", {} malformed lines left out", text.skipped);
  return remark;
}

/// Whether a pair is good to learn from.
struct PairLimits {
  bool leave_out = false;  ///< pairs beyond the limits, instead of cutting them
  std::int64_t max_length = 0;
};

struct LeftOut {
  std::int64_t empty = 0, too_long = 0;
};

/// All pairs as tokens, or those within the limits.
TranslationPairs tokenized(const ParallelText& text, const TranslationVocabulary& vocabulary, const PairLimits& limits,
                           LeftOut& left_out) {
  TranslationPairs pairs;
  const auto room = static_cast<std::size_t>(limits.max_length - 1);
  for (std::size_t i = 0; i < text.source.size(); ++i) {
    std::vector<std::int32_t> source = vocabulary.source.encode(text.source[i]);
    std::vector<std::int32_t> target = vocabulary.target.encode(text.target[i]);
    if (limits.leave_out && (source.empty() || target.empty())) {
      ++left_out.empty;
      continue;
    }
    if (source.size() > room || target.size() > room) {
      ++left_out.too_long;
      if (limits.leave_out) continue;
    }
    source.resize(std::min(source.size(), room));
    target.resize(std::min(target.size(), room));
    source.push_back(vocabulary.source.end());
    target.insert(target.begin(), vocabulary.target.begin());
    pairs.source.add(source);
    pairs.target.add(target);
    pairs.documents.push_back(text.documents[i]);
  }
  return pairs;
}

}  // namespace

void TokenSentences::add(std::span<const std::int32_t> sentence) {
  tokens.insert(tokens.end(), sentence.begin(), sentence.end());
  offsets.push_back(std::ssize(tokens));
}

TranslationPairs TranslationPairs::first(std::int64_t count) const {
  TranslationPairs result;
  for (std::int64_t pair = 0; pair < std::min(count, size()); ++pair) {
    result.source.add(source.sentence(pair));
    result.target.add(target.sentence(pair));
    result.documents.push_back(documents[static_cast<std::size_t>(pair)]);
  }
  return result;
}

std::int64_t TranslationPairs::first_of_document(std::int64_t pair) const {
  const auto found = std::ranges::lower_bound(documents, documents[static_cast<std::size_t>(pair)]);
  return found - documents.begin();
}

std::int64_t TranslationPairs::window_length(std::int64_t pair, std::int64_t context) const {
  const std::int64_t first = context == 0 ? pair : first_of_document(pair);
  const auto length = [&](const TokenSentences& side) {
    const std::int64_t begin = std::max(side.begin_of(first), side.begin_of(pair) - context);
    return side.begin_of(pair + 1) - begin;
  };
  return length(source) + length(target);
}

TranslationWindow TranslationPairs::window(std::int64_t pair, std::int64_t context) const {
  const std::int64_t first = context == 0 ? pair : first_of_document(pair);
  const std::int64_t source_begin = std::max(source.begin_of(first), source.begin_of(pair) - context);
  const std::int64_t target_begin = std::max(target.begin_of(first), target.begin_of(pair) - context);
  TranslationWindow window{.source = source.range(source_begin, source.begin_of(pair + 1)),
                           .target = target.range(target_begin, target.begin_of(pair + 1)),
                           .lengths = {}};
  for (std::int64_t sentence = first; sentence <= pair; ++sentence) {
    const auto inside = [sentence](const TokenSentences& side, std::int64_t begin) {
      return std::max<std::int64_t>(0, side.begin_of(sentence + 1) - std::max(begin, side.begin_of(sentence)));
    };
    const std::int64_t of_source = inside(source, source_begin), of_target = inside(target, target_begin);
    if (of_source == 0 && of_target == 0) continue;
    window.lengths.source.push_back(of_source);
    window.lengths.target.push_back(of_target);
  }
  return window;
}

void append_targets(std::span<const std::int32_t> target, std::int32_t end, std::vector<std::int32_t>& targets) {
  targets.insert(targets.end(), target.begin() + 1, target.end());
  targets.push_back(end);
}

std::vector<Parameter> translation_corpus_parameters() {
  const auto files = [](const std::string& name, const std::string& what) {
    return object_parameter(name, "files with " + what + ", plain, .gz or in a tar archive",
                            {string_parameter("source", "file with a sentence a line, or of tsv the table"),
                             {.name = "target",
                              .type = ParameterType::string,
                              .help = "file with the translation of each line; of tsv none"}},
                            true);
  };
  std::vector<std::string> formats;
  for (const DocumentFormat format : document_formats()) formats.emplace_back(to_string(format));
  const auto column = [](std::string name, std::string help) {
    return integer_parameter(std::move(name), std::move(help), {.smallest = 1, .largest = 10000});
  };
  return {files("train", "the text to learn from"),
          files("valid", "the text that decides which checkpoint is the best"),
          files("test", "the text that the best checkpoint is scored on"),
          choice_parameter("documents",
                           "how files say where documents begin: not at all; a blank line between two; a line `<d>` in "
                           "front of each; or tsv, one table with title, source and target",
                           formats),
          object_parameter("columns", "of tsv: the numbers of columns, from 1",
                           {integer_parameter("document", "the title, or whatever is equal in one document",
                                              {.initial = 1, .smallest = 1, .largest = 10000}),
                            column("source", "default: the last but one"), column("target", "default: the last")}),
          integer_parameter("context",
                            "tokens of the document before a sentence that encoder and decoder read with it, on each "
                            "side; a translation attends to its own sentence's source alone",
                            {.initial = 0, .largest = 1 << 16}),
          integer_parameter("max_length",
                            "tokens of a sentence with its end: training pairs with more on either side are left out, "
                            "longer ones elsewhere are cut, and no translation is longer",
                            {.initial = 128, .smallest = 2, .largest = 1 << 16}),
          translation_vocabulary_parameter(),
          boolean_parameter("skip_bad",
                            "of tsv: leave malformed lines out and say how many, instead of ending with an "
                            "error")};
}

DocumentFormat document_format_of(const Settings& task) {
  const std::string name = task.string("documents");
  const std::vector<DocumentFormat> formats = document_formats();
  const auto found = std::ranges::find(formats, name, [](DocumentFormat format) { return to_string(format); });
  if (found == formats.end()) throw ConfigError("documents", fmt::format("there is no format '{}'", name));
  return *found;
}

void check_translation_corpus(const Settings& task) {
  const DocumentFormat format = document_format_of(task);
  const bool table = format == DocumentFormat::tsv;
  for (const char* key : {"train", "valid", "test"}) {
    const bool given = task.object(key).has("target");
    if (given == !table) continue;
    throw ConfigError("task",
                      table ? fmt::format("{0}.target: a table (documents \"tsv\") has both languages; name it "
                                          "with {0}.source alone",
                                          key)
                            : fmt::format("{}.target is missing: the file with the translation of each line", key));
  }
  if (format == DocumentFormat::none && task.integer("context") > 0) {
    throw ConfigError("task", fmt::format("context = {} are tokens of the same document, but the files have no "
                                          "documents; say with task.documents how they are marked",
                                          task.integer("context")));
  }
  const TableColumns columns = table_columns(task), initial;
  if (!table && (columns.document != initial.document || columns.source || columns.target)) {
    throw ConfigError("task", "columns are those of a table; set documents to \"tsv\", or leave columns out");
  }
  check_translation_vocabulary(task.object("vocabulary"));
}

TranslationCorpus load_translation_corpus(const Settings& task, const std::vector<std::string>& folders,
                                          std::optional<TranslationVocabulary> vocabulary) {
  const ParallelText train = read_split(task, "train", folders);
  if (!vocabulary) vocabulary = make_translation_vocabulary(task.object("vocabulary"), train, folders);
  TranslationCorpus corpus{.vocabulary = std::move(*vocabulary)};
  corpus.valid_text = read_split(task, "valid", folders);
  corpus.test_text = read_split(task, "test", folders);

  const std::int64_t max_length = task.integer("max_length");
  LeftOut left_out, cut;
  corpus.train = tokenized(train, corpus.vocabulary, {.leave_out = true, .max_length = max_length}, left_out);
  std::string remark = remark_of("train", train, task);
  if (left_out.empty > 0) remark += fmt::format(", {} with an empty side left out", left_out.empty);
  if (left_out.too_long > 0) {
    remark += fmt::format(", {} of more than {} tokens left out", left_out.too_long, max_length);
  }
  corpus.remarks.push_back(std::move(remark));
  if (corpus.train.size() == 0) {
    throw ConfigError("task", fmt::format("none of the {} training pairs is left: {} have an empty side, {} more than "
                                          "max_length = {} tokens",
                                          train.num_sentences(), left_out.empty, left_out.too_long, max_length));
  }
  const auto add = [&](const char* key, const ParallelText& text) {
    cut = {};
    TranslationPairs pairs = tokenized(text, corpus.vocabulary, {.max_length = max_length}, cut);
    corpus.remarks.push_back(remark_of(key, text, task));
    if (cut.too_long > 0) corpus.remarks.back() += fmt::format(", {} cut to {} tokens", cut.too_long, max_length);
    return pairs;
  };
  corpus.valid = add("valid", corpus.valid_text);
  corpus.test = add("test", corpus.test_text);
  const auto pieces = [](std::int64_t tokens, std::int64_t sentences) {
    return static_cast<double>(tokens) / static_cast<double>(sentences);
  };
  corpus.remarks.push_back(fmt::format(
      "vocabulary: {}; a training sentence has {:.1f} source and {:.1f} target tokens on average",
      corpus.vocabulary.joint ? fmt::format("{} pieces for both languages", corpus.vocabulary.source.model().size())
                              : fmt::format("{} source and {} target pieces", corpus.vocabulary.source.model().size(),
                                            corpus.vocabulary.target.model().size()),
      pieces(std::ssize(corpus.train.source.tokens), corpus.train.size()),
      pieces(std::ssize(corpus.train.target.tokens), corpus.train.size())));
  return corpus;
}

}  // namespace bough
