#include "graph/io/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "graph/io/checksum.h"
#include "graph/io/npy.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using test::error_message;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string npy(const std::string& dictionary, const std::string& elements, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  text += version == 1 ? raw(static_cast<std::uint16_t>(dictionary.size()))
                       : raw(static_cast<std::uint32_t>(dictionary.size()));
  return text + dictionary + elements;
}

template <typename T>
std::string npy_array(const char* descr, const std::vector<T>& values, char version = 1) {
  std::string elements(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return npy("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" +
                 std::to_string(values.size()) + ",), }",
             elements, version);
}

std::string ids(const std::vector<std::int32_t>& values) { return npy_array("<i4", values); }

struct Entry {
  std::string name;
  std::string content;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> claimed_size = {};
  bool zip64 = false;
};

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A zip file, independent of ZipWriter and able to lie.
std::string zip(const std::vector<Entry>& entries, bool zip64_directory = false) {
  const auto u16 = [](auto value) { return raw(static_cast<std::uint16_t>(value)); };
  const auto u32 = [](auto value) { return raw(static_cast<std::uint32_t>(value)); };
  const auto u64 = [](auto value) { return raw(static_cast<std::uint64_t>(value)); };
  std::string file, directory;
  for (const Entry& entry : entries) {
    const std::string data = entry.method == 8 ? deflated(entry.content) : entry.content;
    const std::uint32_t size = entry.claimed_size.value_or(static_cast<std::uint32_t>(entry.content.size()));
    const std::string checksum = u32(crc32_of(entry.content.data(), entry.content.size()));
    const std::string extra = entry.zip64 ? u16(1) + u16(24) + u64(size) + u64(data.size()) + u64(file.size()) : "";
    const std::string sizes = entry.zip64 ? u32(-1) + u32(-1) : u32(data.size()) + u32(size);
    directory += "PK\x01\x02" + u16(20) + u16(20) + u16(entry.flags) + u16(entry.method) + u32(0) + checksum + sizes +
                 u16(entry.name.size()) + u16(extra.size()) + u16(0) + u16(0) + u16(0) + u32(0) +
                 (entry.zip64 ? u32(-1) : u32(file.size())) + entry.name + extra;
    file += "PK\x03\x04" + u16(20) + u16(entry.flags) + u16(entry.method) + u32(0) + checksum + sizes +
            u16(entry.name.size()) + u16(0) + entry.name + data;
  }
  const std::size_t offset = file.size();
  file += directory;
  if (!zip64_directory) {
    return file + "PK\x05\x06" + u16(0) + u16(0) + u16(entries.size()) + u16(entries.size()) + u32(directory.size()) +
           u32(offset) + u16(0);
  }
  const std::size_t end = file.size();
  file += "PK\x06\x06" + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(entries.size()) + u64(entries.size()) +
          u64(directory.size()) + u64(offset);
  file += "PK\x06\x07" + u32(0) + u64(end) + u32(1);
  return file + "PK\x05\x06" + u16(0) + u16(0) + u16(-1) + u16(-1) + u32(-1) + u32(-1) + u16(0);
}

class NpzFiles : public testing::Test {
 protected:
  Graph load(const std::string& content) { return load_graph(InputFile("graph.npz", content)); }
  std::string error(const std::string& content) {
    return error_message<IoError>([&] { load(content); });
  }
  /// A loadable graph with one entry replaced or added.
  std::string error_with(const Entry& entry) {
    std::vector<Entry> entries{{"src.npy", ids({0, 1})}, {"dst.npy", ids({1, 2})}};
    std::erase_if(entries, [&](const Entry& other) { return other.name == entry.name; });
    entries.push_back(entry);
    return error(zip(entries));
  }
};

TEST_F(NpzFiles, MayBeStoredOrDeflated) {
  for (const std::uint16_t method : {0, 8}) {
    const Graph graph = load(zip({{"src.npy", ids({0, 1, 4}), method},
                                  {"dst.npy", ids({3, 2, 1}), method},
                                  {"edge_types.npy", ids({2, 0, 1}), method}}));
    EXPECT_EQ(graph.num_nodes(), 5);
    EXPECT_THAT(graph.coo().src, ElementsAre(0, 1, 4));
    EXPECT_THAT(graph.coo().dst, ElementsAre(3, 2, 1));
    EXPECT_THAT(graph.edge_types(), ElementsAre(2, 0, 1));
  }
}

TEST_F(NpzFiles, MayHaveIntegersOfAnyWidthInAnyVersionOfTheFormat) {
  const auto load_sources = [&](const std::string& sources) {
    const IdArray src(load(zip({{"src.npy", sources}, {"dst.npy", ids({0, 0})}})).coo().src);
    return std::vector<int>(src.begin(), src.end());
  };
  EXPECT_THAT(load_sources(npy_array<std::int8_t>("|i1", {1, 100})), ElementsAre(1, 100));
  EXPECT_THAT(load_sources(npy_array<std::uint8_t>("|u1", {1, 200}, 2)), ElementsAre(1, 200));
  EXPECT_THAT(load_sources(npy_array<std::int16_t>("<i2", {1, 30'000})), ElementsAre(1, 30'000));
  EXPECT_THAT(load_sources(npy_array<std::uint16_t>("<u2", {1, 60'000}, 3)), ElementsAre(1, 60'000));
  EXPECT_THAT(load_sources(npy_array<std::uint32_t>("<u4", {1, 70'000})), ElementsAre(1, 70'000));
  EXPECT_THAT(load_sources(npy_array<std::int64_t>("<i8", {1, 70'000}, 2)), ElementsAre(1, 70'000));
  EXPECT_THAT(load_sources(npy_array<std::uint64_t>("<u8", {1, 70'000})), ElementsAre(1, 70'000));
}

TEST_F(NpzFiles, MayUseZip64) {
  Entry src{"src.npy", ids({0, 1})};
  src.zip64 = true;
  Entry dst{"dst.npy", ids({1, 0}), 8};
  dst.zip64 = true;
  EXPECT_EQ(load(zip({src, dst}, true)).num_edges(), 2);
}

TEST_F(NpzFiles, MayHaveScalarsOfRankZeroOrOne) {
  const std::string scalar = npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", raw(std::int64_t{9}));
  EXPECT_EQ(load(zip({{"src.npy", ids({0})}, {"dst.npy", ids({1})}, {"num_nodes.npy", scalar}})).num_nodes(), 9);
  EXPECT_EQ(load(zip({{"src.npy", ids({0})}, {"dst.npy", ids({1})}, {"num_nodes.npy", ids({9})}})).num_nodes(), 9);
  const Graph two_sets = load(zip({{"src.npy", ids({0})}, {"dst.npy", ids({1})}, {"num_src.npy", ids({7})}}));
  EXPECT_EQ(two_sets.num_src(), 7);
  EXPECT_EQ(two_sets.num_dst(), 2);
}

TEST_F(NpzFiles, MayHoldSparseMatricesOfScipy) {
  const auto format = [](const std::string& text) {
    return npy("{'descr': '|S3', 'fortran_order': False, 'shape': ()}", text);
  };
  const Entry data{"data.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", std::string(24, 'x'))};
  const Entry square{"shape.npy", npy_array<std::int64_t>("<i8", {3, 3})};
  const Entry oblong{"shape.npy", npy_array<std::int64_t>("<i8", {3, 5})};
  const Graph csr = load(zip({{"format.npy", format("csr")},
                              data,
                              square,
                              {"indptr.npy", ids({0, 1, 1, 3})},
                              {"indices.npy", ids({2, 0, 1})}}));
  EXPECT_FALSE(csr.is_bipartite());
  EXPECT_THAT(csr.coo().src, ElementsAre(0, 2, 2));
  EXPECT_THAT(csr.coo().dst, ElementsAre(2, 0, 1));
  const Graph csc = load(zip({{"format.npy", format("csc")},
                              data,
                              oblong,
                              {"indptr.npy", ids({0, 1, 1, 3, 3, 3})},
                              {"indices.npy", ids({2, 0, 1})}}));
  EXPECT_TRUE(csc.is_bipartite());
  EXPECT_EQ(csc.num_src(), 3);
  EXPECT_EQ(csc.num_dst(), 5);
  EXPECT_THAT(csc.coo().src, ElementsAre(2, 0, 1));
  EXPECT_THAT(csc.coo().dst, ElementsAre(0, 2, 2));
  const Graph coo = load(
      zip({{"format.npy", format("coo")}, data, oblong, {"row.npy", ids({2, 0, 1})}, {"col.npy", ids({4, 0, 1})}}));
  EXPECT_THAT(coo.coo().dst, ElementsAre(4, 0, 1));
  EXPECT_THAT(error(zip({{"format.npy", format("bsr")}, data, square})), HasSubstr("format 'bsr'"));
  EXPECT_THAT(error(zip({{"format.npy", format("csr")}, oblong, {"indptr.npy", ids({0, 0})}})),
              HasSubstr("2 row pointers"));
}

TEST_F(NpzFiles, HoldTheValuesOfAMatrixAsATensorInEdgeOrder) {
  const auto [graph, tensors] = load_graph_with_tensors(
      InputFile("matrix.npz", zip({{"format.npy", npy("{'descr': '|S3', 'fortran_order': False, 'shape': ()}", "csc")},
                                   {"shape.npy", npy_array<std::int64_t>("<i8", {2, 2})},
                                   {"data.npy", npy_array<double>("<f8", {5, 6, 7})},
                                   {"indptr.npy", ids({0, 1, 3})},
                                   {"indices.npy", ids({1, 0, 1})}})));
  EXPECT_THAT(graph.coo().src, ElementsAre(1, 0, 1));
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_THAT(tensors.at("data").to_vector<double>(), ElementsAre(5, 6, 7));
}

TEST_F(NpzFiles, DoNotTakeANameNearOneThatIsThereForASlip) {
  const std::string file =
      zip({{"src.npy", ids({0})}, {"dst.npy", ids({1})}, {"dist.npy", npy_array<float>("<f4", {2.5f})}});
  const auto [graph, tensors] = load_graph_with_tensors(InputFile("graph.npz", file));
  EXPECT_EQ(graph.num_edges(), 1);
  EXPECT_THAT(tensors.at("dist").to_vector<float>(), ElementsAre(2.5f));
}

/// An archive with one array x as a tensor.
Tensor load_tensor(const std::string& array) {
  return load_npz(InputFile("data.npz", zip({{"x.npy", array, 8}}))).at("x");
}

TEST(NpzTensors, KeepTheirTypesAndWidenIntegersThatTensorsLack) {
  const auto expect = [](const std::string& array, DType dtype, const std::vector<double>& values) {
    const Tensor tensor = load_tensor(array);
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.shape(), (Shape{static_cast<std::int64_t>(values.size())}));
    EXPECT_EQ(tensor.to_vector<double>(), values);
  };
  expect(npy_array<float>("<f4", {0.5f, -2}), DType::float32, {0.5, -2});
  expect(npy_array<double>("<f8", {0.1}, 2), DType::float64, {0.1});
  expect(npy_array<std::int32_t>("<i4", {1, -2}), DType::int32, {1, -2});
  expect(npy_array<std::int64_t>("<i8", {1, -5'000'000'000}, 3), DType::int64, {1, -5'000'000'000});
  expect(npy_array<std::uint8_t>("|b1", {1, 0, 7}), DType::boolean, {1, 0, 1});
  expect(npy_array<std::int8_t>("|i1", {-100, 3}), DType::int32, {-100, 3});
  expect(npy_array<std::uint8_t>("|u1", {200}), DType::int32, {200});
  expect(npy_array<std::int16_t>("<i2", {-30'000}), DType::int32, {-30'000});
  expect(npy_array<std::uint16_t>("<u2", {60'000}), DType::int32, {60'000});
  expect(npy_array<std::uint32_t>("<u4", {4'000'000'000}), DType::int64, {4'000'000'000});
}

TEST(NpzTensors, HaveAnyShapeATensorMayHave) {
  const auto shape = [](const std::string& text, const std::string& elements) {
    return load_tensor(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + "}", elements)).shape();
  };
  EXPECT_EQ(shape("()", std::string(4, '\0')), Shape());
  EXPECT_EQ(shape("(2, 3)", std::string(24, '\0')), (Shape{2, 3}));
  EXPECT_EQ(shape("(0, 3, 2)", ""), (Shape{0, 3, 2}));
  EXPECT_EQ(shape("(1, 1, 1, 1, 1, 1, 1, 2)", std::string(8, '\0')), (Shape{1, 1, 1, 1, 1, 1, 1, 2}));
}

TEST(NpzTensors, RefuseWhatNoTensorHolds) {
  const auto error = [](const std::string& array) { return error_message<IoError>([&] { load_tensor(array); }); };
  const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + "}";
  };
  const std::string eight(8, '\0');
  for (const char* descr : {">f4", ">i4", "<f2", "<u8", "<c8", "|O8", "<U2", "<M8", "<f16", "=f4", "<f"}) {
    EXPECT_THAT(error(npy(header(descr, "False", "(2,)"), eight)),
                AllOf(HasSubstr("'x.npy'"), HasSubstr("'" + std::string(descr) + "'"), HasSubstr("astype('float32')")));
  }
  EXPECT_THAT(error(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", eight)),
              HasSubstr("several fields"));
  EXPECT_THAT(error(npy(header("<f4", "True", "(2, 1)"), eight)), HasSubstr("np.ascontiguousarray"));
  EXPECT_EQ(load_tensor(npy(header("<f4", "True", "(2,)"), eight)).shape(), (Shape{2}));
  EXPECT_THAT(error(npy(header("<f4", "False", "(3,)"), eight)), HasSubstr("shape"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(1,)"), eight)), HasSubstr("shape"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(9223372036854775807, 2)"), eight)), HasSubstr("shape"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(4294967296, 4294967296, 0)"), "")), HasSubstr("shape"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(0, 4611686018427387904, 4)"), "")), HasSubstr("shape"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), eight)), HasSubstr("at most 8 axes"));
  EXPECT_THAT(error(npy(header("<f4", "False", "(-1,)"), eight)), HasSubstr("damaged header"));
}

TEST(NpzTensors, RefuseFilesThatAreNoArchivesOfArrays) {
  const auto error = [](const std::string& file) {
    return error_message<IoError>([&] { load_npz(InputFile("data.npz", file)); });
  };
  EXPECT_THAT(error("src dst"), HasSubstr("not a NumPy .npz archive"));
  EXPECT_THAT(error(""), HasSubstr("not a NumPy .npz archive"));
  EXPECT_THAT(error(zip({{"readme.txt", "hello"}})), HasSubstr("'readme.txt', which is no NumPy array"));
  const std::string whole = zip({{"x.npy", npy_array<float>("<f4", {1, 2, 3})}, {"y.npy", ids({1, 2}), 8}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(load_npz(InputFile("cut", whole.substr(0, length))), IoError) << "cut to " << length << " bytes";
  }
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      const NamedTensors tensors = load_npz(InputFile("flipped", damaged));
      ASSERT_EQ(tensors.size(), 2u) << "bit " << bit;
      EXPECT_EQ(tensors.begin()->second.to_vector<float>(), (std::vector<float>{1, 2, 3})) << "bit " << bit;
    } catch (const IoError&) {
    }
  }
}

TEST_F(NpzFiles, PassOverOtherArraysUnlessTheyLookLikeASlip) {
  EXPECT_EQ(load(zip({{"src.npy", ids({0})}, {"dst.npy", ids({1})}, {"features.npy", "whatever"}})).num_edges(), 1);
  EXPECT_THAT(error_with({"edge_type.npy", ids({0, 0})}), HasSubstr("'edge_type'; is 'edge_types' meant?"));
  EXPECT_THAT(error_with({"Num_Nodes.npy", ids({4})}), HasSubstr("'Num_Nodes'; is 'num_nodes' meant?"));
}

TEST(NamedTensors, SayWhichNamesThereAreWhenOneIsMissing) {
  const NamedTensors none, some{{"feats", ones({2})}, {"labels", zeros({2})}};
  EXPECT_EQ(some.at("feats").to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(error_message<IndexError>([&] { some.at("feat"); }),
            "[tensors] there is no 'feat', did you mean 'feats'?; known are feats, labels");
  EXPECT_EQ(error_message<IndexError>([&] { none.at("feat"); }), "[tensors] there is no 'feat', nor any other");
}

TEST_F(NpzFiles, KeepArraysWhoseNamesOnlyResembleThoseOfAGraph) {
  const test::TemporaryFolder folder;
  const Graph graph = Graph::from_edges({0, 1}, {1, 2});
  for (const char* name : {"feature_offsets", "edge_feats", "node_types", "dst_types", "word_offsets", "node_offsets",
                           "num_classes", "src_feat"}) {
    save_npz(folder.file("named.npz"), graph, {{name, ones({2})}});
    EXPECT_EQ(load_graph(folder.file("named.npz")).num_edges(), 2) << name;
    EXPECT_TRUE(load_graph_with_tensors(folder.file("named.npz")).tensors.contains(name));
  }
  EXPECT_THAT(error_message<IoError>([&] {
                save_npz(folder.file("slip.npz"), graph, {{"edge_type", ones({2})}});
              }),
              HasSubstr("would be taken for the array 'edge_types'"));
}

TEST_F(NpzFiles, SayWhatIsMissingOrWrong) {
  EXPECT_THAT(error(zip({{"src.npy", ids({0})}})), HasSubstr("holds no array 'dst'"));
  EXPECT_THAT(error(zip({})), HasSubstr("holds no array 'src'"));
  EXPECT_THAT(error_with({"dst.npy", ids({1})}), HasSubstr("2 sources and 1 destinations"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, -2})}), HasSubstr("edge 1 has destination -2"));
  EXPECT_THAT(error_with({"dst.npy", npy_array<std::int64_t>("<i8", {1, 5'000'000'000})}),
              HasSubstr("holds 5000000000 at position 1, but ids have 32 bits"));
  EXPECT_THAT(error_with({"dst.npy", npy_array<float>("<f4", {1, 2})}), HasSubstr("type '<f4'"));
  EXPECT_THAT(error_with({"dst.npy", npy_array<std::int32_t>(">i4", {1, 2})}), HasSubstr("type '>i4'"));
  EXPECT_THAT(
      error_with({"dst.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}", std::string(8, '\0'))}),
      HasSubstr("one axis, but has 2"));
  EXPECT_THAT(error_with({"num_nodes.npy", ids({4, 4})}), HasSubstr("must be a single number"));
  EXPECT_THAT(error_with({"num_nodes.npy", npy_array<std::uint64_t>("<u8", {~std::uint64_t{0}})}),
              HasSubstr("too large"));
  EXPECT_THAT(error_with({"num_nodes.npy", npy_array<std::int64_t>("<i8", {2'000'000'000})}), HasSubstr("accepted"));
  EXPECT_THAT(
      error(
          zip({{"src.npy", ids({0})}, {"dst.npy", ids({0})}, {"num_src.npy", ids({1})}, {"num_nodes.npy", ids({1})}})),
      HasSubstr("also has num_nodes"));
}

TEST_F(NpzFiles, RefuseDamagedArrays) {
  const std::string two(8, '\0');
  const auto with = [&](const std::string& array) { return error_with({"dst.npy", array}); };
  EXPECT_THAT(with("not an array"), HasSubstr("not a NumPy array"));
  EXPECT_THAT(with(""), HasSubstr("shorter"));
  EXPECT_THAT(with(npy_array<std::int32_t>("<i4", {1, 2}, 9)), HasSubstr("version 9"));
  EXPECT_THAT(with(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}", two)), HasSubstr("shape"));
  EXPECT_THAT(with(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775807,)}", two)),
              HasSubstr("shape"));
  EXPECT_THAT(with(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}", two)),
              HasSubstr("axis"));
  for (const char* dictionary :
       {"", "{", "{}", "{'descr': '<i4'}", "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} more",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", "{'descr: (2,)}",
        "{'descr': '<i', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i3', 'fortran_order': False, 'shape': (2,)}",
        "{'extra': '<i4', 'fortran_order': False, 'shape': (2,)}"}) {
    EXPECT_THAT(with(npy(dictionary, two)), HasSubstr("dst.npy")) << dictionary;
  }
}

TEST_F(NpzFiles, RefuseArchivesThatAreOdd) {
  EXPECT_THAT(error(zip({{"src.npy", ids({0})}, {"src.npy", ids({0})}})), HasSubstr("'src.npy' twice"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 0, 1}), HasSubstr("encrypted"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 12}), HasSubstr("compression method 12"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 0, 0, 500}), HasSubstr("cannot have 500 bytes"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 8, 0, 4'000'000'000}), HasSubstr("cannot have 4000000000 bytes"));
  const auto size = static_cast<std::uint32_t>(ids({1, 2}).size());
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 8, 0, size + 1}),
              HasSubstr("which does not match its shape and type"));
  EXPECT_THAT(error_with({"dst.npy", ids({1, 2}), 8, 0, size - 8}), HasSubstr("smaller than its shape"));
}

TEST_F(NpzFiles, WithACompressedArrayThatEndsEarlyGiveAnIoError) {
  const std::string header = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (40,)}", "");
  Entry entry{"dst.npy", header, 8};
  entry.claimed_size = static_cast<std::uint32_t>(header.size() + 160);
  EXPECT_THAT(error_with(entry), HasSubstr("shorter"));
}

}  // namespace
}  // namespace bough
