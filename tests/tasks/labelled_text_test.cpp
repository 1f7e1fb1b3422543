#include "tasks/data/labelled_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "tasks/data/labelled_trees.h"
#include "tasks/data/line_reader.h"
#include "tasks/data/phrase_tree.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using test::TemporaryFolder;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What a call throws, as text; empty if it does not.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  LineReader reader(path);
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  return lines;
}

void write_gzip(const std::string& path, const std::string& text) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(::gzclose(file), Z_OK);
}

TEST(LineReader, GivesLinesOfPlainAndPackedFiles) {
  const TemporaryFolder folder;
  const std::string long_line(700'000, 'x');  // longer than what is read at once
  const std::string text = "one\r\n\n" + long_line + "\nlast";
  write_file(folder.file("plain"), text);
  write_gzip(folder.file("packed"), text);
  for (const char* name : {"plain", "packed"}) {
    EXPECT_THAT(lines_of(folder.file(name)), ElementsAre("one", "", long_line, "last")) << name;
  }
  write_file(folder.file("empty"), "");
  EXPECT_TRUE(lines_of(folder.file("empty")).empty());
}

TEST(LineReader, NamesAFileThatIsDamagedMissingOrAFolder) {
  const TemporaryFolder folder;
  write_gzip(folder.file("whole"), std::string(100'000, 'a') + "\nb\n");
  const std::string bytes = test::file_content(folder.file("whole"));
  write_file(folder.file("short"), bytes.substr(0, bytes.size() - 5));
  EXPECT_THAT(error_of([&] { lines_of(folder.file("short")); }), HasSubstr("short' is damaged: it ends too early"));
  EXPECT_THAT(error_of([&] { lines_of(folder.file("missing")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { lines_of(folder.file("")); }), HasSubstr("is a folder"));
}

TEST(PhraseTree, HasChildrenBeforeParents) {
  const PhraseTree tree = parse_phrase_tree("(3 (2 A) (4 (2 co-writer\\/director) (3 -LRB-)))");
  EXPECT_THAT(tree.words, ElementsAre("A", "co-writer/director", "("));
  using Node = PhraseTree::Node;
  EXPECT_THAT(tree.nodes,
              ElementsAre(Node{2, 0, 1, 4}, Node{2, 1, 2, 3}, Node{3, 2, 3, 3}, Node{4, 1, 3, 4}, Node{3, 0, 3, -1}));
  EXPECT_EQ(tree.text(tree.nodes[3]), "co-writer/director (");
}

TEST(PhraseTree, TakesLabelsOfAnyKindOrNoneWhereTheyAreNotRead) {
  const PhraseTree expected = parse_phrase_tree("(S (NP (DT a) (NN dog)) (VP barks))", PhraseLabels::ignored);
  EXPECT_THAT(expected.words, ElementsAre("a", "dog", "barks"));
  ASSERT_EQ(expected.nodes.size(), 5u);
  for (const PhraseTree::Node& node : expected.nodes) EXPECT_EQ(node.label, PhraseTree::no_label);
  for (const char* same : {"( ( ( a) ( dog)) ( barks))", "(4 (2 (2 a) (2 dog)) (3 barks))"}) {
    EXPECT_EQ(parse_phrase_tree(same, PhraseLabels::ignored).nodes, expected.nodes) << same;
  }
  EXPECT_THAT(error_of([] { parse_phrase_tree("(a)", PhraseLabels::ignored); }), HasSubstr("neither a word nor nodes"));
  EXPECT_THAT(error_of([] { parse_phrase_tree("(NN dog)"); }), HasSubstr("whole number, not 'NN'"));
}

TEST(PhraseTree, ReadsAnyDepth) {
  constexpr int depth = 200'000;
  std::string text = "(2 x)";
  text.reserve(10 * depth);
  std::string front, back;
  for (int i = 0; i < depth; ++i) {
    front += "(1 ";
    back += ")";
  }
  EXPECT_EQ(parse_phrase_tree(front + text + back).nodes.size(), depth + 1);
}

TEST(PhraseTree, NamesWhatIsWrongAndWhere) {
  const auto error = [](const char* text) { return error_of([&] { parse_phrase_tree(text); }); };
  EXPECT_THAT(error(""), HasSubstr("no tree (column 1)"));
  EXPECT_THAT(error("word"), HasSubstr("must begin with '('"));
  EXPECT_THAT(error("(2 a"), HasSubstr("not closed (column 5)"));
  EXPECT_THAT(error("(2 a) b"), HasSubstr("something behind the tree"));
  EXPECT_THAT(error("(x a)"), HasSubstr("whole number, not 'x'"));
  EXPECT_THAT(error("(2 a b)"), HasSubstr("more than one word"));
  EXPECT_THAT(error("(2 a (2 b))"), HasSubstr("a word and a node"));
  EXPECT_THAT(error("(2 (2 b) a)"), HasSubstr("a word and nodes"));
  EXPECT_THAT(error("(2 )"), HasSubstr("neither a word nor nodes"));
  EXPECT_THAT(error(")"), HasSubstr("closes nothing"));
  EXPECT_THAT(error("(99999999999 a)"), HasSubstr("whole number"));
}

class Texts : public testing::Test {
 protected:
  LabelledTexts read(const std::string& content, TextFormat format, const ReadTextsOptions& options = {}) {
    write_file(path, content);
    return read_labelled_texts(path, format, options);
  }
  std::string error(const std::string& content, TextFormat format, const ReadTextsOptions& options = {}) {
    return error_of([&] { read(content, format, options); });
  }
  /// "text|second|label" of each.
  static std::vector<std::string> shown(const LabelledTexts& texts) {
    std::vector<std::string> result;
    for (const LabelledText& text : texts.texts) {
      result.push_back(text.text + "|" + text.second + "|" + texts.labels.at(static_cast<std::size_t>(text.label)));
    }
    return result;
  }

  TemporaryFolder folder;
  std::string path = folder.file("texts");
};

TEST_F(Texts, TreebankGivesSentencesOrAllPhrases) {
  const std::string trees = "(3 (2 a) (4 (3 good) (2 film)))\n(0 (2 a) (1 bore))\n";
  EXPECT_THAT(shown(read(trees, TextFormat::sst5)), ElementsAre("a good film||positive", "a bore||very negative"));
  EXPECT_THAT(shown(read(trees, TextFormat::sst5, {.phrases = true})),
              ElementsAre("a||neutral", "good||positive", "film||neutral", "good film||very positive",
                          "a good film||positive", "bore||negative", "a bore||very negative"));
  EXPECT_THAT(shown(read(trees, TextFormat::sst2, {.phrases = true})),
              ElementsAre("good||positive", "good film||positive", "a good film||positive", "bore||negative",
                          "a bore||negative"));
}

TEST_F(Texts, NeutralSentencesAreNotInTheBinaryTreebank) {
  EXPECT_THAT(shown(read("(2 (2 so) (3 so))\n(1 no)\n", TextFormat::sst2)), ElementsAre("no||negative"));
}

TEST_F(Texts, TreesHaveClassesForLabels) {
  write_file(path, "(3 (2 a) (4 (1 good) (2 film)))\n(2 so)\n(5 far)\n");
  EXPECT_THAT(error_of([&] { read_labelled_trees(path, TextFormat::sst2); }),
              HasSubstr("line 3: labels of phrases are 0 to 4, not 5"));
  const auto labels = [&](TextFormat format, std::size_t tree) {
    const LabelledTrees trees = read_labelled_trees(path, format, {.skip_bad = true});
    std::vector<std::int32_t> result;
    for (const PhraseTree::Node& node : trees.trees.at(tree).nodes) result.push_back(node.label);
    return result;
  };
  constexpr std::int32_t none = PhraseTree::no_label;
  EXPECT_THAT(labels(TextFormat::sst5, 0), ElementsAre(2, 1, 2, 4, 3));
  EXPECT_THAT(labels(TextFormat::sst2, 0), ElementsAre(none, 0, none, 1, 1));
  EXPECT_THAT(labels(TextFormat::sst2, 1), ElementsAre(none));
  EXPECT_EQ(read_labelled_trees(path, TextFormat::sst2, {.skip_bad = true}).skipped, 1);
}

TEST_F(Texts, ImdbLinesLoseTheirBreaks) {
  EXPECT_THAT(shown(read("1\t10\t7\tt\tGood.<br /><br />Really\tgood.\n0\t1\t8\tv\tBad.\n", TextFormat::imdb)),
              ElementsAre("Good.  Really\tgood.||positive", "Bad.||negative"));
}

TEST_F(Texts, ImdbFoldersAreReadInTheOrderOfIds) {
  std::filesystem::create_directories(folder.file("imdb/pos"));
  std::filesystem::create_directories(folder.file("imdb/neg"));
  write_file(folder.file("imdb/pos/10_9.txt"), "ten");
  write_file(folder.file("imdb/pos/9_10.txt"), "nine<br />\n9");
  write_file(folder.file("imdb/neg/0_1.txt"), "zero");
  write_file(folder.file("imdb/neg/urls.feat"), "no text");
  EXPECT_THAT(shown(read_labelled_texts(folder.file("imdb"), TextFormat::imdb)),
              ElementsAre("zero||negative", "nine  9||positive", "ten||positive"));
  write_file(folder.file("imdb/neg/1_1.txt"), " \n");
  EXPECT_THAT(error_of([&] { read_labelled_texts(folder.file("imdb"), TextFormat::imdb); }),
              HasSubstr("1_1.txt' has no"));
  EXPECT_EQ(read_labelled_texts(folder.file("imdb"), TextFormat::imdb, {.skip_bad = true}).skipped, 1);
  std::filesystem::remove_all(folder.file("imdb/neg"));
  EXPECT_THAT(error_of([&] { read_labelled_texts(folder.file("imdb"), TextFormat::imdb); }),
              HasSubstr("no folder 'neg'"));
}

TEST_F(Texts, LabelsOfTsvAreSortedOrGiven) {
  const std::string lines = "sport\tgoal\nart\tpaint\nsport\tball\tgame\n";
  const LabelledTexts texts = read(lines, TextFormat::tsv);
  EXPECT_THAT(texts.labels, ElementsAre("art", "sport"));
  EXPECT_THAT(shown(texts), ElementsAre("goal||sport", "paint||art", "ball\tgame||sport"));
  EXPECT_THAT(read("art\tx\n", TextFormat::tsv, {.labels = {"sport", "art"}}).texts.at(0).label, 1);
  EXPECT_THAT(error("news\tx\n", TextFormat::tsv, {.labels = {"sport", "art"}}),
              HasSubstr("line 1: the label is 'news', not one of sport, art"));
}

TEST_F(Texts, PairsComeFromTsvAndJson) {
  EXPECT_THAT(shown(read("neutral\ta b\tc\n-\tx\ty\nentailment\td\te\n", TextFormat::snli_tsv)),
              ElementsAre("a b|c|neutral", "d|e|entailment"));
  const LabelledTexts texts = read(R"({"gold_label": "contradiction", "sentence1": "a", "sentence2": "b", "pairID": 3})"
                                   "\n"
                                   R"({"gold_label": "-", "sentence1": "a", "sentence2": "b"})"
                                   "\n",
                                   TextFormat::snli_jsonl);
  EXPECT_THAT(shown(texts), ElementsAre("a|b|contradiction"));
  EXPECT_EQ(texts.undecided, 1);
}

TEST_F(Texts, MalformedLinesAreNamedOrCounted) {
  struct Case {
    TextFormat format;
    std::string good, bad, message;
  };
  const std::vector<Case> cases = {
      {TextFormat::sst5, "(2 a)", "(2 a", "line 2: the tree is not closed (column 5); \"skip_bad\": true"},
      {TextFormat::sst5, "(2 a)", "(7 a)", "line 2: labels of phrases are 0 to 4, not 7"},
      {TextFormat::imdb, "0\t1\t1\tt\ta", "0\t1\ta", "line 2: the line has 3 fields, 5 are wanted"},
      {TextFormat::imdb, "0\t1\t1\tt\ta", "2\t1\t1\tt\ta",
       "line 2: the label must be 0 (negative) or 1 (positive), it is '2'"},
      {TextFormat::tsv, "x\ta", "no tab",
       "line 2: the line has 1 field, 2 are wanted, with tabs between them: label, text"},
      {TextFormat::tsv, "x\ta", "y\t ", "line 2: the text is empty"},
      {TextFormat::tsv, "x\ta", "\ttext", "line 2: the label is empty"},
      {TextFormat::snli_tsv, "neutral\ta\tb", "neutral\ta\t", "line 2: the text is empty"},
      {TextFormat::snli_jsonl, R"({"gold_label": "neutral", "sentence1": "a", "sentence2": "b"})", "{", "no JSON"},
      {TextFormat::snli_jsonl, R"({"gold_label": "neutral", "sentence1": "a", "sentence2": "b"})",
       R"({"gold_label": "neutral", "sentence1": "a", "sentence2": 3})", "the object has no text 'sentence2'"},
      {TextFormat::snli_jsonl, R"({"gold_label": "neutral", "sentence1": "a", "sentence2": "b"})", "[1]",
       "no object with gold_label"},
  };
  for (const Case& one : cases) {
    const std::string lines = one.good + "\n" + one.bad + "\n" + one.good + "\n";
    EXPECT_THAT(error(lines, one.format), HasSubstr(one.message)) << one.bad;
    const LabelledTexts kept = read(lines, one.format, {.skip_bad = true});
    EXPECT_EQ(kept.texts.size(), 2u) << one.bad;
    EXPECT_EQ(kept.skipped, 1) << one.bad;
  }
}

TEST_F(Texts, ALabelThatOnlyABadLineHasIsNoClass) {
  EXPECT_THAT(read("x\ta\ny\t \n", TextFormat::tsv, {.skip_bad = true}).labels, ElementsAre("x"));
}

TEST_F(Texts, AFileWithoutTextsIsAnError) {
  EXPECT_THAT(error("", TextFormat::tsv), HasSubstr("has no text of the format tsv"));
  EXPECT_THAT(error("(2 a)\n", TextFormat::sst2), HasSubstr("has no text of the format sst2"));
}

}  // namespace
}  // namespace bough
