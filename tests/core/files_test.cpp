#include "src/core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bough/core/errors.h"

namespace bough {
namespace {

class Files : public testing::Test {
 protected:
  Files() : folder_(std::filesystem::path(testing::TempDir()) / ("bough_files_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  const std::filesystem::path folder_;
};

void write(const std::string& path, const std::string& text) {
  AtomicFileWriter file(path);
  file.write(text.data(), text.size());
  file.commit();
}

TEST_F(Files, PipesAndDevicesAreRefusedAndLeftAlone) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(write(path("pipe"), "x"), IoError);
  EXPECT_THROW(read_file(path("pipe"), 100), IoError);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_THROW(write(folder_.string(), "x"), IoError);
}

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string bytes("a\0b\n", 4);
  write(path("x"), bytes);
  EXPECT_EQ(read_file(path("x"), 100), bytes);
  write(path("x"), "");
  EXPECT_EQ(read_file(path("x"), 100), "");
  EXPECT_EQ(entries(), 1u) << "no temporary file stays behind";
}

TEST_F(Files, WithoutCommitTheOldFileStays) {
  write(path("x"), "old");
  {
    AtomicFileWriter file(path("x"));
    file.write("new", 3);
  }
  EXPECT_EQ(read_file(path("x"), 100), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const IoError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string missing = message([&] { read_file(path("none"), 100); });
  EXPECT_NE(missing.find("none"), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;
  EXPECT_NE(message([&] { read_file(folder_.string(), 100); }).find("regular file"), std::string::npos);
  EXPECT_NE(message([&] { write(path("no/such/folder"), "x"); }).find("no/such/folder"), std::string::npos);
  write(path("big"), std::string(101, 'x'));
  EXPECT_NE(message([&] { read_file(path("big"), 100); }).find("101"), std::string::npos);
}

}  // namespace
}  // namespace bough
