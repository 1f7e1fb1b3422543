#include "tasks/data/parallel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bough/core/errors.h"
#include "tasks/data/data_path.h"
#include "tasks/data/line_reader.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ParallelTextFiles : public testing::Test {
 protected:
  ParallelText read(const std::string& source, const std::string& target, DocumentFormat documents) const {
    test::write_file(folder_.file("a.txt"), source);
    test::write_file(folder_.file("b.txt"), target);
    return read_parallel_text({folder_.file("a.txt"), folder_.file("b.txt")}, {.documents = documents});
  }
  ParallelText table(const std::string& lines, const ReadParallelOptions& options = {}) const {
    test::write_file(folder_.file("table.tsv"), lines);
    ReadParallelOptions all = options;
    all.documents = DocumentFormat::tsv;
    return read_parallel_text({folder_.file("table.tsv"), ""}, all);
  }
  template <typename Read>
  std::string error_of(const Read& read) const {
    return test::error_message<IoError>(read);
  }
  test::TemporaryFolder folder_;
};

TEST_F(ParallelTextFiles, WithoutDocumentsPairLineByLine) {
  const ParallelText text = read("one\r\ntwo\n\nfour", "eins\nzwei\ndrei\nvier\n", DocumentFormat::none);
  EXPECT_THAT(text.source, ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(text.target, ElementsAre("eins", "zwei", "drei", "vier"));
  EXPECT_THAT(text.documents, ElementsAre(0, 1, 2, 3)) << "each alone";
}

TEST_F(ParallelTextFiles, HaveDocumentsBetweenBlankLines) {
  const ParallelText text = read("\na\nb\n \t\n\nc\n", "\nA\nB\n\n\nC\n", DocumentFormat::blank_line);
  EXPECT_THAT(text.source, ElementsAre("a", "b", "c"));
  EXPECT_THAT(text.target, ElementsAre("A", "B", "C"));
  EXPECT_THAT(text.documents, ElementsAre(0, 0, 1));
  EXPECT_EQ(text.num_documents(), 2);
}

TEST_F(ParallelTextFiles, HaveDocumentsBehindMarks) {
  const ParallelText text = read("<d>\na\n\n<d> \nc\n", "<d>\nA\nB\n<d>\nC\n", DocumentFormat::marks);
  EXPECT_THAT(text.source, ElementsAre("a", "", "c")) << "a blank line is a sentence";
  EXPECT_THAT(text.documents, ElementsAre(0, 0, 1));
}

TEST_F(ParallelTextFiles, HaveDocumentsByTheTitleOfATable) {
  const ParallelText text = table("t\tx\tx\tone\teins\nt\ty\tx\ttwo\tzwei\nu\tthree\tdrei\nt\tfour\tvier\n");
  EXPECT_THAT(text.source, ElementsAre("one", "two", "three", "four"));
  EXPECT_THAT(text.target, ElementsAre("eins", "zwei", "drei", "vier"));
  EXPECT_THAT(text.documents, ElementsAre(0, 0, 1, 2)) << "a title that comes again is another document";

  const ParallelText turned = table("a\tb\tdoc\nc\td\tdoc\n", {.columns = {.document = 3, .source = 2, .target = 1}});
  EXPECT_THAT(turned.source, ElementsAre("b", "d"));
  EXPECT_THAT(turned.target, ElementsAre("a", "c"));
  EXPECT_THAT(turned.documents, ElementsAre(0, 0));
}

TEST_F(ParallelTextFiles, ThatDoNotPairUpAreRefusedWithBothCounts) {
  EXPECT_THAT(error_of([&] { read("a\nb\nc\n", "A\nB\n", DocumentFormat::none); }),
              AllOf(HasSubstr("a.txt' has 3 lines"), HasSubstr("b.txt' has 2")));
  EXPECT_THAT(error_of([&] { read("<d>\na\n<d>\nb\n", "<d>\nA\nB\n<d>\n", DocumentFormat::marks); }),
              AllOf(HasSubstr("line 3 of '"), HasSubstr("a.txt' is <d> and that of '")));
  EXPECT_THAT(error_of([&] { read("a\n\nb\n", "A\nB\nC\n", DocumentFormat::blank_line); }),
              HasSubstr("line 2 of '" + folder_.file("a.txt") + "' is blank"));
  EXPECT_THAT(error_of([&] { read("", "", DocumentFormat::none); }), HasSubstr("has no sentence"));
  EXPECT_THAT(error_of([&] { read("<d>\n", "<d>\n", DocumentFormat::marks); }), HasSubstr("has no sentence"));
  EXPECT_THAT(error_of([&] {
                read_parallel_text({folder_.file("nowhere"), folder_.file("b.txt")});
              }),
              HasSubstr("nowhere"));
}

TEST_F(ParallelTextFiles, NameTheBadLineOfATableOrLeaveItOut) {
  const std::string lines = "t\tone\teins\nt\ttwo\n\nt\tthree\tdrei\n";
  EXPECT_THAT(error_of([&] { table(lines); }),
              AllOf(HasSubstr("table.tsv, line 2: the line has 2 columns and 3 are needed"), HasSubstr("skip_bad")));
  const ParallelText text = table(lines, {.skip_bad = true});
  EXPECT_THAT(text.source, ElementsAre("one", "three"));
  EXPECT_EQ(text.skipped, 2);
  EXPECT_THAT(error_of([&] { table("a\tb\tc\n", {.columns = {.source = 5}}); }), HasSubstr("5 are needed"));
}

class Archive : public testing::Test {
 protected:
  void SetUp() override {
    // A name of more than a hundred characters has an entry of its own in front of the file.
    std::filesystem::create_directories(folder_.file("corpus/" + long_name_));
    test::write_file(folder_.file("corpus/first.txt"), std::string(700, 'x') + "\n");
    test::write_file(folder_.file("corpus/second.txt"), "one\ntwo");
    test::write_file(folder_.file("corpus/" + long_name_ + "/third.txt"), "three\n");
    for (const std::string format : {"ustar", "gnu", "pax"}) {
      const std::string command = "cd '" + folder_.file("") + "' && tar --format=" + format + " -czf " + format +
                                  ".tar.gz corpus && tar --format=" + format + " -cf " + format + ".tar corpus";
      ASSERT_EQ(std::system(command.c_str()), 0);
    }
  }
  std::vector<std::string> lines(const std::string& path) const {
    std::vector<std::string> lines;
    LineReader reader(folder_.file(path));
    for (std::string_view line; reader.next(line);) lines.emplace_back(line);
    return lines;
  }
  std::string error_of(const std::string& path) const {
    return test::error_message<IoError>([&] { lines(path); });
  }
  test::TemporaryFolder folder_;
  std::string long_name_ = std::string(60, 'l') + "/" + std::string(60, 'm');
};

TEST_F(Archive, GivesTheLinesOfAFileInIt) {
  for (const std::string archive : {"ustar.tar.gz", "ustar.tar", "gnu.tar.gz", "gnu.tar", "pax.tar.gz"}) {
    SCOPED_TRACE(archive);
    EXPECT_THAT(lines(archive + "/corpus/second.txt"), ElementsAre("one", "two"));
    EXPECT_THAT(lines(archive + "/corpus/first.txt"), ElementsAre(std::string(700, 'x')));
  }
  for (const std::string archive : {"ustar.tar.gz", "gnu.tar"}) {
    EXPECT_THAT(lines(archive + "/corpus/" + long_name_ + "/third.txt"), ElementsAre("three"));
  }
  EXPECT_EQ(find_data_file("gnu.tar.gz/corpus/second.txt", {folder_.file("")}),
            folder_.file("gnu.tar.gz/corpus/second.txt"));
}

TEST_F(Archive, SaysWhatItHasInsteadOfAMissingFile) {
  EXPECT_THAT(error_of("gnu.tar.gz/corpus/other.txt"),
              AllOf(HasSubstr("has no file 'corpus/other.txt'; it has "), HasSubstr("corpus/second.txt")));
  EXPECT_THAT(error_of("nowhere.tar.gz/corpus/other.txt"), HasSubstr("nowhere.tar.gz/corpus/other.txt"));
}

TEST_F(Archive, ThatIsDamagedIsAnError) {
  const std::string whole = test::file_content(folder_.file("gnu.tar"));
  test::write_file(folder_.file("cut.tar"), whole.substr(0, 700));
  EXPECT_THAT(error_of("cut.tar/corpus/second.txt"), HasSubstr("ends too early"));
  const std::size_t content = whole.find("one\ntwo");
  test::write_file(folder_.file("short.tar"), whole.substr(0, content + 3));
  EXPECT_THAT(error_of("short.tar/corpus/second.txt"), HasSubstr("ends too early"));
  std::string flipped = whole;
  flipped[3] ^= 1;
  test::write_file(folder_.file("flipped.tar"), flipped);
  EXPECT_THAT(error_of("flipped.tar/corpus/second.txt"), HasSubstr("checksum"));
  test::write_file(folder_.file("text.tar"), std::string(5000, 'z'));
  EXPECT_THAT(error_of("text.tar/corpus/second.txt"), HasSubstr("damaged tar archive"));
}

}  // namespace
}  // namespace bough
