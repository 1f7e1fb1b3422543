#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Texts with a class each, as the files of classification and inference have them.
namespace bough {

/// The formats of files; `to_string` gives their names in JSON.
enum class TextFormat {
  sst5,        ///< a tree of labelled phrases a line, labels 0 to 4
  sst2,        ///< the same without neutral phrases: 0, 1 are negative, 3, 4 positive
  imdb,        ///< a folder with pos/*.txt and neg/*.txt, or a file of lines label, rating, id, flag, text by tabs
  tsv,         ///< a line is label, tab, text
  snli_tsv,    ///< a line is label, tab, premise, tab, hypothesis
  snli_jsonl,  ///< a line is an object with gold_label, sentence1, sentence2
};
const char* to_string(TextFormat format);
/// All formats, in the order above.
std::vector<TextFormat> text_formats();
/// Whether a text of this format is two sentences.
bool is_pair(TextFormat format);

struct LabelledText {
  std::string text = {};
  std::string second = {};  ///< the hypothesis; empty unless the format has pairs
  std::int32_t label = 0;
};

struct LabelledTexts {
  std::vector<std::string> labels = {};  ///< names of the classes
  std::vector<LabelledText> texts = {};  ///< in the order of the file; of a folder in the order of ids, neg first
  std::int64_t skipped = 0;              ///< bad lines that were left out
  std::int64_t undecided = 0;            ///< pairs without a gold label ("-"), left out as the corpus asks for
};

struct ReadTextsOptions {
  /// Of sst5 and sst2: every phrase of a tree, the same text with the same label once, instead of the sentences alone.
  bool phrases = false;
  bool skip_bad = false;  ///< leave malformed lines out and count them
  /// Of tsv: the classes that may occur. None: those of the file, sorted.
  std::vector<std::string> labels = {};
};

/// Reads a file, plain or gzip (imdb: or a folder). Texts are as they stand there; of sst the words of the tree with a
/// space between two, of imdb without "<br />". IoError naming file and line for a malformed line unless skip_bad, and
/// for a file without a text. Linear in the size of the file.
LabelledTexts read_labelled_texts(const std::string& path, TextFormat format, const ReadTextsOptions& options = {});

}  // namespace bough
