#include "tasks/data/labelled_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/data/line_reader.h"

namespace bough {
namespace {

constexpr std::int32_t neutral = 2;  ///< in the files

std::int64_t largest_number_of_parts(const PhraseTree& tree) {
  std::vector<std::int64_t> parts(tree.nodes.size());
  for (const PhraseTree::Node& node : tree.nodes) {
    if (node.parent >= 0) ++parts[static_cast<std::size_t>(node.parent)];
  }
  return std::ranges::max(parts);
}

}  // namespace

bool has_trees(TextFormat format) { return format == TextFormat::sst5 || format == TextFormat::sst2; }

std::vector<std::string> tree_labels(TextFormat format) {
  if (format == TextFormat::sst2) return {"negative", "positive"};
  return {"very negative", "negative", "neutral", "positive", "very positive"};
}

PhraseTree parse_labelled_tree(std::string_view line, TextFormat format) {
  PhraseTree tree = parse_phrase_tree(line);
  for (PhraseTree::Node& node : tree.nodes) {
    if (node.label < 0 || node.label > 4) {
      throw ConfigError("texts", fmt::format("labels of phrases are 0 to 4, not {}", node.label));
    }
    if (format != TextFormat::sst2) continue;
    node.label = node.label == neutral ? PhraseTree::no_label : node.label > neutral ? 1 : 0;
  }
  return tree;
}

void require_binary(const PhraseTree& tree) {
  if (const std::int64_t parts = largest_number_of_parts(tree); parts > 2) {
    throw ConfigError("texts", fmt::format("a phrase has {} parts, and one of a binary tree has two; \"along\": "
                                           "\"child_sum_tree\" takes any number",
                                           parts));
  }
}

LabelledTrees read_labelled_trees(const std::string& path, TextFormat format, const ReadTreesOptions& options) {
  LabelledTrees result{.labels = tree_labels(format)};
  result.skipped = parse_lines(path, options.skip_bad, [&](std::string_view line) {
    PhraseTree tree = parse_labelled_tree(line, format);
    if (options.binary) require_binary(tree);
    result.trees.push_back(std::move(tree));
  });
  if (result.trees.empty()) {
    throw IoError("data", fmt::format("'{}' has no tree of the format {}", path, to_string(format)));
  }
  return result;
}

}  // namespace bough
