#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "bough/core/random.h"
#include "bough/graph/batch.h"
#include "bough/graph/io.h"
#include "graph/io/checksum.h"
#include "graph/io/input_file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::error_message;
using testing::HasSubstr;

Graph small_batch() {
  const Graph graph = zoo::random_graph(4, 5, 1, 3);
  return batch({graph, graph});
}

std::string bytes_of(const test::TemporaryFolder& folder, const std::string& ending, const Graph& graph) {
  save_graph(folder.file("whole" + ending), graph);
  return test::file_content(folder.file("whole" + ending));
}

bool same_edges(const Graph& a, const Graph& b) {
  return a.num_src() == b.num_src() && a.num_dst() == b.num_dst() && a.num_edge_types() == b.num_edge_types() &&
         std::ranges::equal(a.coo().src, b.coo().src) && std::ranges::equal(a.coo().dst, b.coo().dst) &&
         std::ranges::equal(a.edge_types(), b.edge_types()) && std::ranges::equal(a.edge_offsets(), b.edge_offsets());
}

TEST(DamagedFiles, CutShortAnywhereGiveAnIoError) {
  const test::TemporaryFolder folder;
  for (const std::string ending : {".bough", ".npz", ".txt"}) {
    const std::string whole =
        bytes_of(folder, ending, ending == ".txt" ? zoo::random_graph(12, 9, 1, 3) : small_batch());
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_THROW(load_graph(InputFile("cut", whole.substr(0, length))), IoError)
          << ending << " cut to " << length << " of " << whole.size() << " bytes";
    }
  }
}

TEST(DamagedFiles, WithMoreBehindTheirEndGiveAnIoError) {
  const test::TemporaryFolder folder;
  for (const std::string ending : {".bough", ".npz"}) {
    EXPECT_THROW(load_graph(InputFile("long", bytes_of(folder, ending, small_batch()) + "more")), IoError) << ending;
  }
}

TEST(DamagedFiles, WithAnyBitFlippedGiveAnIoErrorOrTheSameGraph) {
  const test::TemporaryFolder folder;
  for (const std::string ending : {".bough", ".npz"}) {
    const std::string whole = bytes_of(folder, ending, small_batch());
    int loaded = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      try {
        const Graph graph = load_graph(InputFile("flipped", damaged));
        ++loaded;
        EXPECT_TRUE(same_edges(graph, small_batch())) << ending << " bit " << bit;
      } catch (const IoError&) {
      }
    }
    // Only zip has bytes that mean nothing, such as dates.
    EXPECT_EQ(loaded > 0, ending == ".npz");
  }
}

TEST(DamagedFiles, WithRandomBytesNeverDoWorseThanAnIoError) {
  const test::TemporaryFolder folder;
  const RandomStream random{5, 0};
  std::uint64_t next = 0;
  for (const std::string ending : {".bough", ".npz", ".txt"}) {
    const std::string whole = bytes_of(folder, ending, small_batch());
    for (int round = 0; round < 2'000; ++round) {
      std::string damaged = whole;
      const auto changes = 1 + random(next++) % 8;
      for (std::uint32_t change = 0; change < changes; ++change) {
        const std::size_t at = random(next++) % damaged.size();
        damaged[at] = static_cast<char>(random(next++));
      }
      try {
        load_graph(InputFile("random", damaged));
      } catch (const IoError&) {
      }
    }
  }
}

/// A binary file with a header of our choice, checksum included, and nothing behind it unless given.
std::string binary_file(std::uint32_t version, std::uint32_t flags, std::array<std::int64_t, 5> counts,
                        const std::string& rest = {}) {
  std::string bytes(
      "\x89"
      "bgr\r\n\x1a\n",
      8);
  bytes.append(reinterpret_cast<const char*>(&version), 4);
  bytes.append(reinterpret_cast<const char*>(&flags), 4);
  bytes.append(reinterpret_cast<const char*>(counts.data()), sizeof(counts));
  const std::uint32_t checksum = crc32_of(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&checksum), 4);
  return bytes + rest;
}

std::string section(const std::vector<std::int32_t>& values) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const std::uint32_t checksum = crc32_of(bytes.data(), bytes.size());
  return bytes.append(reinterpret_cast<const char*>(&checksum), 4);
}

TEST(HostileFiles, ThatClaimMoreThanTheyHoldAreRefusedBeforeAnythingIsAllocated) {
  const auto error = [](const std::string& content) {
    return error_message<IoError>([&] { load_graph(InputFile("hostile", content)); });
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::string none = section({}) + section({});
  EXPECT_THAT(error(binary_file(1, 0, {1, 1, 2'000'000'000, 0, 1}, none)),
              HasSubstr("its header announces 16000000068"));
  EXPECT_THAT(error(binary_file(1, 0, {1, 1, huge, 0, 1}, none)), HasSubstr("edges"));
  EXPECT_THAT(error(binary_file(1, 0, {1, 1, -1, 0, 1}, none)), HasSubstr("-1 edges"));
  EXPECT_THAT(error(binary_file(1, 4, {1, 1, 0, 0, huge}, none)), HasSubstr("graphs"));
  EXPECT_THAT(error(binary_file(1, 0, {2'000'000'000, 2'000'000'000, 0, 0, 1}, none)),
              HasSubstr("2000000000 nodes, but with 0 edges"));
  EXPECT_THAT(error(binary_file(1, 0, {huge, huge, 0, 0, 1}, none)), HasSubstr("32 bits"));
  EXPECT_THAT(error(binary_file(1, 0, {-5, -5, 0, 0, 1}, none)), HasSubstr("-5"));
  EXPECT_THAT(error(binary_file(1, 0, {1, 1, 0, huge, 1}, none)), HasSubstr("edge types"));
  EXPECT_THAT(error(binary_file(2, 0, {1, 1, 0, 0, 1}, none)), HasSubstr("version 2"));
  EXPECT_THAT(error(binary_file(1, 8, {1, 1, 0, 0, 1}, none)), HasSubstr("flags 0x8"));
  EXPECT_THAT(error(binary_file(1, 0, {1, 2, 0, 0, 1}, none)), HasSubstr("not bipartite"));
}

TEST(HostileFiles, WithEdgesThatLeaveTheGraphNameTheEdge) {
  const std::string content = binary_file(1, 0, {3, 3, 2, 0, 1}, section({0, 1}) + section({2, 7}));
  EXPECT_THAT(error_message<IoError>([&] { load_graph(InputFile("hostile", content)); }),
              HasSubstr("edge 1 has destination 7, but there are 3 nodes"));
}

}  // namespace
}  // namespace bough
