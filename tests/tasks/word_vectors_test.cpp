#include "tasks/data/word_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WordVectorFile : public testing::Test {
 protected:
  WordVectors read(const std::string& content, const std::vector<std::string>& words, std::uint64_t seed = 1) {
    test::write_file(path, content);
    return read_word_vectors(path, words, seed);
  }
  std::string error(const std::string& content) {
    try {
      read(content, {"a", "b"});
      return "";
    } catch (const IoError& error) {
      return error.what();
    }
  }

  test::TemporaryFolder folder;
  std::string path = folder.file("vectors.txt");
};

TEST_F(WordVectorFile, GivesRowsInTheOrderOfTheWords) {
  const WordVectors vectors = read("the 1 2 3\n, -0.5 1e-3 4\ncat 5 6 7\n", {"cat", "the"});
  EXPECT_EQ(vectors.rows.shape(), (Shape{2, 3}));
  EXPECT_THAT(vectors.rows.to_vector<float>(), ElementsAre(5, 6, 7, 1, 2, 3));
  EXPECT_EQ(vectors.num_found, 2);
  EXPECT_EQ(vectors.num_in_file, 3);
}

TEST_F(WordVectorFile, PassesOverAHeadAndTakesWordsWithSpaces) {
  const WordVectors vectors = read("3 2\n. . . 1 2 \n2000 3 4\nthe 5 6\n", {". . .", "2000", "the"});
  EXPECT_THAT(vectors.rows.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(WordVectorFile, TheFirstOfTwoVectorsOfAWordCounts) {
  EXPECT_THAT(read("a 1 2\na 3 4\n", {"a"}).rows.to_vector<float>(), ElementsAre(1, 2));
}

TEST_F(WordVectorFile, MissingWordsGetNumbersLikeTheOthers) {
  std::string content;
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    words.push_back("w" + std::to_string(i));
    if (i >= 100) continue;
    content += words.back();
    for (int j = 0; j < 50; ++j) content += j % 2 == 0 ? " 1.5" : " -0.5";  // mean 0.5, deviation 1
    content += "\n";
  }
  const WordVectors vectors = read(content, words);
  EXPECT_EQ(vectors.num_found, 100);
  EXPECT_TRUE(vectors.found[99]);
  EXPECT_FALSE(vectors.found[100]);
  const std::vector<float> rows = vectors.rows.to_vector<float>();
  double sum = 0, squares = 0;
  const std::size_t first = std::size_t{100} * 50, count = rows.size() - first;
  for (std::size_t i = first; i < rows.size(); ++i) sum += rows[i];
  const double mean = sum / static_cast<double>(count);
  for (std::size_t i = first; i < rows.size(); ++i) squares += (rows[i] - mean) * (rows[i] - mean);
  EXPECT_NEAR(mean, 0.5, 0.06);  // four standard errors of 5000 numbers
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 1, 0.04);
}

TEST_F(WordVectorFile, AMissingWordHasTheSameVectorInEveryVocabulary) {
  const auto last_row = [&](const std::vector<std::string>& words, std::uint64_t seed) {
    const std::vector<float> rows = read("a 1 2 3\n", words, seed).rows.to_vector<float>();
    return std::vector<float>(rows.end() - 3, rows.end());
  };
  EXPECT_EQ(last_row({"a", "x"}, 1), last_row({"y", "a", "z", "x"}, 1));
  EXPECT_NE(last_row({"a", "x"}, 1), last_row({"a", "x"}, 2));
  EXPECT_NE(last_row({"a", "x"}, 1), last_row({"a", "y"}, 1));
}

TEST_F(WordVectorFile, LeavesMalformedLinesOutIfAsked) {
  test::write_file(path, "no numbers\nx 1 2\na 1 z\nb 3\na 5 6\nb 7 8 9\nb 7 8\n");
  const std::vector<std::string> words = {"a", "b"};
  const WordVectors vectors = read_word_vectors(path, words, 1, true);
  EXPECT_EQ(vectors.skipped, 3);
  EXPECT_EQ(vectors.num_in_file, 4) << "\"b 7\" is a word with a space";
  EXPECT_EQ(vectors.num_found, 2);
  EXPECT_THAT(vectors.rows.to_vector<float>(), ElementsAre(5, 6, 7, 8));
  test::write_file(path, "no numbers\n");
  EXPECT_THROW(read_word_vectors(path, words, 1, true), IoError);
}

TEST_F(WordVectorFile, NamesTheLineThatIsMalformed) {
  EXPECT_THAT(error(""), HasSubstr("has no vectors"));
  EXPECT_THAT(error("a b c\n"), HasSubstr("line 1: the line must be a word and some numbers"));
  EXPECT_THAT(error("x 1 2\na 1\n"), HasSubstr("line 2: the line must be a word and 2 numbers"));
  EXPECT_THAT(error("x 1 2\na 1 z\n"), HasSubstr("line 2: 'z' is not a number"));
  EXPECT_THAT(error("x 1 2\na 1 nan\n"), HasSubstr("line 2: 'nan' is not a number"));
}

}  // namespace
}  // namespace bough
