#include "bough/tasks/corpus.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "bough/core/errors.h"

namespace bough {
namespace {

unsigned long checksum(const std::string& text) {
  return ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
}

TEST(TurnTaking, GivesThePublishedBytes) {
  const std::string text = turn_taking_text(1'300'000, 1);
  EXPECT_EQ(text.size(), 1'300'223u);
  // CRC-32 of the text whose SHA-256 begins 99aa52c7fc1ec2a0.
  EXPECT_EQ(checksum(text), 0x9387d20cu);
  EXPECT_TRUE(text.starts_with("Xyst Dawn Tree Ember Hill Quill Urn Oak Zinc Vine Night Dawn Tree Wind"));
  EXPECT_EQ(checksum(turn_taking_text(60'000, 778)), 0x34fcbce7u);
}

TEST(TurnTaking, AWordComesAgainOnlyAfterEightOthers) {
  std::istringstream text(turn_taking_text(20'000, 5));
  std::string line;
  int documents = 0;
  while (std::getline(text, line)) {
    ++documents;
    std::istringstream stream(line);
    std::vector<std::string> said(std::istream_iterator<std::string>(stream), {});
    for (std::size_t i = 0; i < said.size(); ++i) {
      for (std::size_t j = i + 1; j < std::min(said.size(), i + 9); ++j) ASSERT_NE(said[i], said[j]);
    }
    EXPECT_LE(std::set<std::string>(said.begin(), said.end()).size(), 12u);
    EXPECT_GE(line.size(), 799u);
    EXPECT_LE(line.size(), 1206u);
  }
  EXPECT_GT(documents, 10);
}

TEST(TurnTaking, OfNothingIsNothing) { EXPECT_EQ(turn_taking_text(0, 1), ""); }

class ReadText : public testing::Test {
 protected:
  ReadText() : path_(testing::TempDir() + "bough_text_" + std::to_string(::getpid())) {}
  ~ReadText() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string pack(const std::string& text) const {
    gzFile file = ::gzopen(path_.c_str(), "wb");
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(file);
    std::ifstream packed(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(packed), {}};
  }
  const std::string path_;
};

TEST_F(ReadText, TakesAnyBytesAsTheyAre) {
  const std::string bytes("\0\xff\n\r", 4);
  write(bytes);
  EXPECT_EQ(read_text(path_), bytes);
  write("");
  EXPECT_EQ(read_text(path_), "");
}

TEST_F(ReadText, UnpacksGzipWhateverItsName) {
  const std::string text = turn_taking_text(300'000, 3);
  const std::string packed = pack(text);
  EXPECT_LT(packed.size(), text.size());
  EXPECT_EQ(read_text(path_), text);
  write(packed + packed);
  EXPECT_EQ(read_text(path_), text + text) << "several streams one after the other";
}

TEST_F(ReadText, DamageIsAnError) {
  const std::string packed = pack(turn_taking_text(5'000, 3));
  for (std::size_t length = 2; length < packed.size(); length += 7) {
    write(packed.substr(0, length));
    ASSERT_THROW(read_text(path_), IoError) << length;
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 4);
  write(damaged);
  EXPECT_THROW(read_text(path_), IoError);
  write(packed + "rubbish");
  EXPECT_THROW(read_text(path_), IoError);
}

TEST_F(ReadText, ASmallFileThatUnpacksToTooMuchIsRefused) {
  pack(std::string(8'000'000, 'x'));
  EXPECT_THROW(read_text(path_, 1'000'000), IoError);
  EXPECT_THROW(read_text("/no/such/file"), IoError);
}

}  // namespace
}  // namespace bough
