#include "tasks/data/labelled_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "bough/core/errors.h"
#include "bough/tasks/corpus.h"
#include "src/core/utf8.h"
#include "tasks/data/labelled_trees.h"
#include "tasks/data/line_reader.h"

namespace bough {
namespace {

/// What is wrong with a line; its place is added by the caller.
[[noreturn]] void malformed(const std::string& what) { throw ConfigError("texts", what); }

/// Fields of a line; the last one takes the rest, tabs included.
template <std::size_t count>
std::array<std::string_view, count> fields_of(std::string_view line, const char* names) {
  std::array<std::string_view, count> fields;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos && line.empty() && i == 0) malformed("the line is empty");
    if (tab == std::string_view::npos) {
      malformed(fmt::format("the line has {} field{}, {} are wanted, with tabs between them: {}", i + 1,
                            i == 0 ? "" : "s", count, names));
    }
    fields[i] = line.substr(0, tab);
    line.remove_prefix(tab + 1);
  }
  fields[count - 1] = line;
  return fields;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// Names in a sentence, the first ones of many.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most, ", "), names.size() - most);
}

std::int32_t place_of(const std::vector<std::string>& labels, std::string_view label) {
  const auto found = std::ranges::find(labels, label);
  if (found == labels.end()) {
    malformed(fmt::format("the label is '{}', not one of {}", label.substr(0, 40), some_of(labels)));
  }
  return static_cast<std::int32_t>(found - labels.begin());
}

void require_text(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) malformed("the text is empty");
}

std::string without_breaks(std::string_view text) {
  constexpr std::string_view line_break = "<br />";
  std::string result;
  while (true) {
    const std::size_t found = text.find(line_break);
    result += text.substr(0, found);
    if (found == std::string_view::npos) return result;
    result += ' ';
    text.remove_prefix(found + line_break.size());
  }
}

/// Adds the texts of one line.
class LineParser {
 public:
  LineParser(TextFormat format, const ReadTextsOptions& options, LabelledTexts& result)
      : format_(format), options_(options), result_(result) {}

  void parse(std::string_view line) {
    switch (format_) {
      case TextFormat::sst5:
      case TextFormat::sst2:
        return tree(line);
      case TextFormat::imdb: {
        const auto fields = fields_of<5>(line, "label, rating, id, flag, text");
        if (fields[0] != "0" && fields[0] != "1") {
          malformed(fmt::format("the label must be 0 (negative) or 1 (positive), it is '{}'", fields[0].substr(0, 40)));
        }
        return add(without_breaks(fields[4]), "", fields[0] == "1" ? 1 : 0);
      }
      case TextFormat::tsv: {
        const auto fields = fields_of<2>(line, "label, text");
        const std::string_view label = without_blanks(fields[0]);
        if (label.empty()) malformed("the label is empty");
        if (!is_utf8(std::string(label))) malformed("the label is not UTF-8");
        require_text(fields[1]);  // before its label counts as a class
        return add(std::string(fields[1]), "", tsv_label(label));
      }
      case TextFormat::snli_tsv: {
        const auto fields = fields_of<3>(line, "label, premise, hypothesis");
        return pair(fields[0], fields[1], fields[2]);
      }
      case TextFormat::snli_jsonl:
        return json_pair(line);
    }
  }

 private:
  void add(std::string text, std::string second, std::int32_t label) {
    require_text(text);
    if (is_pair(format_)) require_text(second);
    result_.texts.push_back({std::move(text), std::move(second), label});
  }

  std::int32_t tsv_label(std::string_view label) {
    if (!options_.labels.empty()) return place_of(result_.labels, label);
    const auto [entry, is_new] = places_.try_emplace(std::string(label), static_cast<std::int32_t>(places_.size()));
    if (is_new) result_.labels.emplace_back(label);
    return entry->second;
  }

  void tree(std::string_view line) {
    const PhraseTree tree = parse_labelled_tree(line, format_);
    for (const PhraseTree::Node& node : tree.nodes) {
      if (node.label == PhraseTree::no_label || (!options_.phrases && node.parent >= 0)) continue;
      std::string text = tree.text(node);
      const bool is_new = !options_.phrases || known_.insert(fmt::format("{} {}", node.label, text)).second;
      if (is_new) add(std::move(text), "", node.label);
    }
  }

  void pair(std::string_view label, std::string_view premise, std::string_view hypothesis) {
    if (label == "-") return void(++result_.undecided);
    add(std::string(premise), std::string(hypothesis), place_of(result_.labels, label));
  }

  void json_pair(std::string_view line) {
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_discarded()) malformed("the line is no JSON");
    if (!object.is_object()) malformed("the line is no object with gold_label, sentence1 and sentence2");
    const auto text = [&](const char* key) -> std::string {
      const auto found = object.find(key);
      if (found == object.end() || !found->is_string()) malformed(fmt::format("the object has no text '{}'", key));
      return *found;
    };
    const std::string label = text("gold_label"), premise = text("sentence1"), hypothesis = text("sentence2");
    pair(label, premise, hypothesis);
  }

  TextFormat format_;
  const ReadTextsOptions& options_;
  LabelledTexts& result_;
  std::map<std::string, std::int32_t> places_;  ///< of labels that the file brings along
  std::set<std::string> known_;                 ///< phrases with their labels
};

/// Files of a folder by the number that their names begin with, "12_7.txt".
std::vector<std::filesystem::path> texts_in(const std::filesystem::path& folder) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> numbered;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string name = entry.path().filename().string();
    std::int64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    numbered.emplace_back(number, entry.path());
  }
  std::ranges::sort(numbered);
  std::vector<std::filesystem::path> result;
  for (auto& [number, path] : numbered) result.push_back(std::move(path));
  return result;
}

void read_imdb_folder(const std::filesystem::path& folder, const ReadTextsOptions& options, LabelledTexts& result) {
  for (const auto& [name, label] : {std::pair("neg", 0), std::pair("pos", 1)}) {
    if (!std::filesystem::is_directory(folder / name)) {
      throw IoError("data", fmt::format("the folder '{}' has no folder '{}'; an imdb folder has neg and pos",
                                        folder.string(), name));
    }
    for (const std::filesystem::path& path : texts_in(folder / name)) {
      std::string text = without_breaks(read_text(path.string()));
      std::ranges::replace_if(
          text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
      const bool is_empty = text.find_first_not_of(" \t") == std::string::npos;
      if (is_empty && !options.skip_bad) throw IoError("data", fmt::format("'{}' has no text", path.string()));
      if (is_empty) {
        ++result.skipped;
      } else {
        result.texts.push_back({std::move(text), "", label});
      }
    }
  }
}

void read_lines(const std::string& path, TextFormat format, const ReadTextsOptions& options, LabelledTexts& result) {
  LineParser parser(format, options, result);
  result.skipped += parse_lines(path, options.skip_bad, [&](std::string_view line) { parser.parse(line); });
}

/// Classes that the file brought along, in the order of their names.
void sort_labels(LabelledTexts& texts) {
  std::vector<std::int32_t> order(texts.labels.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int32_t label) { return texts.labels[static_cast<std::size_t>(label)]; });
  std::vector<std::string> sorted;
  for (const std::int32_t label : order) {
    place[static_cast<std::size_t>(label)] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(std::move(texts.labels[static_cast<std::size_t>(label)]));
  }
  for (LabelledText& text : texts.texts) text.label = place[static_cast<std::size_t>(text.label)];
  texts.labels = std::move(sorted);
}

std::vector<std::string> labels_of(TextFormat format, const ReadTextsOptions& options) {
  switch (format) {
    case TextFormat::sst5:
    case TextFormat::sst2:
      return tree_labels(format);
    case TextFormat::imdb:
      return {"negative", "positive"};
    case TextFormat::snli_tsv:
    case TextFormat::snli_jsonl:
      return {"contradiction", "entailment", "neutral"};
    case TextFormat::tsv:
      break;
  }
  return options.labels;
}

}  // namespace

const char* to_string(TextFormat format) {
  switch (format) {
    case TextFormat::sst5:
      return "sst5";
    case TextFormat::sst2:
      return "sst2";
    case TextFormat::imdb:
      return "imdb";
    case TextFormat::tsv:
      return "tsv";
    case TextFormat::snli_tsv:
      return "snli_tsv";
    case TextFormat::snli_jsonl:
      return "snli_jsonl";
  }
  return "";
}

std::vector<TextFormat> text_formats() {
  return {TextFormat::sst5, TextFormat::sst2,     TextFormat::imdb,
          TextFormat::tsv,  TextFormat::snli_tsv, TextFormat::snli_jsonl};
}

bool is_pair(TextFormat format) { return format == TextFormat::snli_tsv || format == TextFormat::snli_jsonl; }

LabelledTexts read_labelled_texts(const std::string& path, TextFormat format, const ReadTextsOptions& options) {
  LabelledTexts result{.labels = labels_of(format, options)};
  std::error_code ignored;
  if (format == TextFormat::imdb && std::filesystem::is_directory(path, ignored)) {
    read_imdb_folder(path, options, result);
  } else {
    read_lines(path, format, options, result);
  }
  if (result.texts.empty())
    throw IoError("data", fmt::format("'{}' has no text of the format {}", path, to_string(format)));
  if (format == TextFormat::tsv && options.labels.empty()) sort_labels(result);
  return result;
}

}  // namespace bough
