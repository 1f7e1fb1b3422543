#include "tasks/data/phrase_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <span>

#include "bough/core/errors.h"

namespace bough {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string unescaped(std::string_view word) {
  if (word == "-LRB-") return "(";
  if (word == "-RRB-") return ")";
  std::string result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool escapes = word[i] == '\\' && i + 1 < word.size() && (word[i + 1] == '/' || word[i + 1] == '*');
    if (!escapes) result += word[i];
  }
  return result;
}

class Parser {
 public:
  Parser(std::string_view text, PhraseLabels labels) : text_(text), labels_(labels) {}

  PhraseTree parse() {
    skip_spaces();
    do {
      if (at_ >= text_.size()) fail(open_.empty() ? "there is no tree" : "the tree is not closed");
      text_[at_] == '(' ? open() : text_[at_] == ')' ? close() : word();
      skip_spaces();
    } while (!open_.empty());
    if (at_ < text_.size()) fail("there is something behind the tree");
    return std::move(tree_);
  }

 private:
  /// A node whose end has not come yet.
  struct Open {
    std::int32_t label, first_word;
    std::vector<std::int32_t> children = {};
    bool has_word = false;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError("phrase tree", fmt::format("{} (column {})", what, at_ + 1));
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  std::string_view label_or_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '(' && text_[at_] != ')') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void open() {
    if (!open_.empty() && open_.back().has_word) fail("a node has a word and a node");
    ++at_;
    const std::string_view text = label_or_word();
    std::int32_t label = PhraseTree::no_label;
    const bool is_read = labels_ == PhraseLabels::numbers;
    if (const char* end = text.data() + text.size();
        is_read && std::from_chars(text.data(), end, label) != std::from_chars_result{end, std::errc()}) {
      fail(fmt::format("the label of a node must be a whole number, not '{}'", text.substr(0, 40)));
    }
    open_.push_back({.label = label, .first_word = static_cast<std::int32_t>(tree_.words.size())});
  }

  void word() {
    if (open_.empty()) fail("a tree must begin with '('");
    Open& node = open_.back();
    if (node.has_word || !node.children.empty()) fail("a node has more than one word, or a word and nodes");
    node.has_word = true;
    tree_.words.push_back(unescaped(label_or_word()));
  }

  void close() {
    if (open_.empty()) fail("a ')' closes nothing");
    const Open node = std::move(open_.back());
    open_.pop_back();
    if (!node.has_word && node.children.empty()) fail("a node has neither a word nor nodes");
    const auto id = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes.push_back(
        {.label = node.label, .begin = node.first_word, .end = static_cast<std::int32_t>(tree_.words.size())});
    for (const std::int32_t child : node.children) tree_.nodes[static_cast<std::size_t>(child)].parent = id;
    if (!open_.empty()) open_.back().children.push_back(id);
    ++at_;
  }

  std::string_view text_;
  PhraseLabels labels_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  PhraseTree tree_;
};

}  // namespace

std::string PhraseTree::text(const Node& node) const {
  const std::span<const std::string> all(words);
  return fmt::format("{}", fmt::join(all.subspan(static_cast<std::size_t>(node.begin),
                                                 static_cast<std::size_t>(node.end - node.begin)),
                                     " "));
}

PhraseTree parse_phrase_tree(std::string_view text, PhraseLabels labels) { return Parser(text, labels).parse(); }

}  // namespace bough
