#include "graph/io/binary.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "graph/io/checksum.h"
#include "src/core/files.h"

namespace bough {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr std::array<unsigned char, 8> magic{0x89, 'b', 'g', 'r', 0x0d, 0x0a, 0x1a, 0x0a};
constexpr std::uint32_t version = 1;
constexpr std::uint32_t flag_bipartite = 1;
constexpr std::uint32_t flag_typed = 2;
constexpr std::uint32_t flag_batch = 4;

struct Header {
  std::array<unsigned char, 8> magic;
  std::uint32_t version;
  std::uint32_t flags;
  std::int64_t num_src;
  std::int64_t num_dst;
  std::int64_t num_edges;
  std::int64_t num_edge_types;
  std::int64_t num_graphs;
};
static_assert(sizeof(Header) == 56);
constexpr std::int64_t checksum_bytes = sizeof(std::uint32_t);

void require_valid(const InputFile& file, const Header& header) {
  if (header.version != version) {
    file.fail(fmt::format("is of version {} of the format, but only {} is known", header.version, version));
  }
  if ((header.flags & ~(flag_bipartite | flag_typed | flag_batch)) != 0) {
    file.fail(fmt::format("has unknown flags {:#x}", header.flags));
  }
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (header.num_edges < 0 || header.num_edges > most || header.num_graphs < 0 || header.num_graphs > most) {
    file.fail(fmt::format("claims {} edges and {} graphs", header.num_edges, header.num_graphs));
  }
  const std::int64_t edge_arrays = (header.flags & flag_typed) != 0 ? 3 : 2;
  const std::int64_t offset_arrays = (header.flags & flag_batch) != 0 ? 3 : 0;
  const std::int64_t expected = std::int64_t{sizeof(Header)} + checksum_bytes +
                                edge_arrays * (header.num_edges * std::int64_t{4} + checksum_bytes) +
                                offset_arrays * ((header.num_graphs + 1) * std::int64_t{8} + checksum_bytes);
  if (file.size() != expected) {
    file.fail(
        fmt::format("has {} bytes, but its header announces {}: it is cut short or damaged", file.size(), expected));
  }
}

/// Reads one section after the other.
class Sections {
 public:
  Sections(const InputFile& file, std::int64_t offset) : file_(file), offset_(offset) {}

  void read(const char* what, void* to, std::size_t bytes) {
    file_.read(offset_, to, bytes);
    offset_ += static_cast<std::int64_t>(bytes);
    std::uint32_t expected = 0;
    file_.read(offset_, &expected, sizeof(expected));
    offset_ += checksum_bytes;
    if (crc32_of(to, bytes) != expected) file_.fail(fmt::format("is damaged: the checksum of its {} is wrong", what));
  }

  IdArray ids(const char* what, std::int64_t count) {
    IdBuffer ids(count);
    read(what, ids.data(), ids.span().size_bytes());
    return IdArray(std::move(ids));
  }

  std::vector<std::int64_t> offsets(const char* what, std::int64_t count) {
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(count));
    read(what, offsets.data(), offsets.size() * sizeof(std::int64_t));
    return offsets;
  }

 private:
  const InputFile& file_;
  std::int64_t offset_;
};

template <typename T>
void write_section(AtomicFileWriter& file, std::span<const T> values) {
  const std::uint32_t checksum = crc32_of(values.data(), values.size_bytes());
  file.write(values.data(), values.size_bytes());
  file.write(&checksum, sizeof(checksum));
}

}  // namespace

bool is_binary_graph(const InputFile& file) {
  std::array<unsigned char, 8> start{};
  if (file.size() < static_cast<std::int64_t>(start.size())) return false;
  file.read(0, start.data(), start.size());
  return start == magic;
}

Graph load_binary(const InputFile& file) {
  if (file.size() < std::int64_t{sizeof(Header)} + checksum_bytes) file.fail("is cut short");
  Header header;
  Sections sections(file, 0);
  sections.read("header", &header, sizeof(header));
  require_valid(file, header);
  IdArray src = sections.ids("sources", header.num_edges);
  IdArray dst = sections.ids("destinations", header.num_edges);
  IdArray types;
  if ((header.flags & flag_typed) != 0) types = sections.ids("edge types", header.num_edges);
  BipartiteOptions options{.num_src = header.num_src,
                           .num_dst = header.num_dst,
                           .edge_types = std::move(types),
                           .num_edge_types = header.num_edge_types};
  if ((header.flags & flag_batch) != 0) {
    options.src_offsets = sections.offsets("source offsets", header.num_graphs + 1);
    options.dst_offsets = sections.offsets("destination offsets", header.num_graphs + 1);
    options.edge_offsets = sections.offsets("edge offsets", header.num_graphs + 1);
  }
  if ((header.flags & flag_bipartite) != 0) {
    return file.build([&] { return Graph::bipartite(std::move(src), std::move(dst), std::move(options)); });
  }
  if (header.num_src != header.num_dst || options.src_offsets != options.dst_offsets) {
    file.fail("is not bipartite, but has separate sources and destinations");
  }
  return file.build([&] {
    return Graph::from_edges(std::move(src), std::move(dst),
                             {.num_nodes = options.num_src,
                              .edge_types = std::move(options.edge_types),
                              .num_edge_types = options.num_edge_types,
                              .graph_offsets = std::move(options.src_offsets),
                              .edge_offsets = std::move(options.edge_offsets)});
  });
}

void save_binary(const std::string& path, const Graph& graph) {
  const bool typed = !graph.edge_types().empty();
  const bool batched = graph.num_graphs() != 1;
  Header header{magic,
                version,
                (graph.is_bipartite() ? flag_bipartite : 0) | (typed ? flag_typed : 0) | (batched ? flag_batch : 0),
                graph.num_src(),
                graph.num_dst(),
                graph.num_edges(),
                graph.num_edge_types(),
                graph.num_graphs()};
  AtomicFileWriter file(path);
  write_section(file, std::span<const Header>(&header, 1));
  write_section(file, graph.coo().src);
  write_section(file, graph.coo().dst);
  if (typed) write_section(file, graph.edge_types());
  if (batched) {
    write_section(file, graph.src_offsets());
    write_section(file, graph.dst_offsets());
    write_section(file, graph.edge_offsets());
  }
  file.commit();
}

}  // namespace bough
