#include "graph/io/npz.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "graph/io/npy.h"
#include "src/core/nearest_name.h"

namespace bough {
namespace {

/// Every array that means something here.
const std::vector<std::string>& known_names() {
  static const std::vector<std::string> names{"src",         "dst",         "edge_types",     "num_nodes",
                                              "num_src",     "num_dst",     "num_edge_types", "graph_offsets",
                                              "src_offsets", "dst_offsets", "edge_offsets"};
  return names;
}

/// Arrays by name.
class Arrays {
 public:
  explicit Arrays(const InputFile& file) : file_(file), archive_(file) {}

  bool has(std::string_view name) const { return entry(name) != nullptr; }
  IdArray ids(std::string_view name) const { return read_npy_ids(file_, require(name)); }
  IdArray ids_if_any(std::string_view name) const { return has(name) ? ids(name) : IdArray(); }
  std::vector<std::int64_t> integers(std::string_view name) const { return read_npy_integers(file_, require(name)); }
  std::vector<std::int64_t> integers_if_any(std::string_view name) const {
    return has(name) ? integers(name) : std::vector<std::int64_t>();
  }
  std::optional<std::int64_t> integer_if_any(std::string_view name) const {
    return has(name) ? std::optional(read_npy_integer(file_, require(name))) : std::nullopt;
  }
  std::string text(std::string_view name) const { return read_npy_text(file_, require(name)); }

  /// A slip in the name of an optional array would otherwise go unnoticed.
  void require_no_slips() const {
    for (const ZipEntry& found : archive_.entries()) {
      const std::string_view name = std::string_view(found.name).substr(0, found.name.rfind(".npy"));
      if (std::ranges::find(known_names(), name) != known_names().end()) continue;
      const std::string meant = nearest_name(name, known_names());
      if (!meant.empty()) file_.fail(fmt::format("holds an array '{}'; is '{}' meant?", std::string(name), meant));
    }
  }

 private:
  const ZipEntry* entry(std::string_view name) const { return archive_.find(fmt::format("{}.npy", name)); }
  const ZipEntry& require(std::string_view name) const {
    const ZipEntry* found = entry(name);
    if (found == nullptr) {
      file_.fail(fmt::format("holds no array '{}'; a graph needs src and dst, or a matrix of scipy.sparse", name));
    }
    return *found;
  }

  const InputFile& file_;
  ZipArchive archive_;
};

Graph edges_graph(const InputFile& file, const Arrays& arrays) {
  arrays.require_no_slips();
  const bool bipartite = arrays.has("num_src") || arrays.has("num_dst") || arrays.has("src_offsets");
  if (bipartite && (arrays.has("num_nodes") || arrays.has("graph_offsets"))) {
    file.fail("is bipartite by num_src or num_dst, but also has num_nodes or graph_offsets");
  }
  IdArray src = arrays.ids("src");
  IdArray dst = arrays.ids("dst");
  return file.build([&] {
    if (bipartite) {
      return Graph::bipartite(std::move(src), std::move(dst),
                              {.num_src = arrays.integer_if_any("num_src"),
                               .num_dst = arrays.integer_if_any("num_dst"),
                               .edge_types = arrays.ids_if_any("edge_types"),
                               .num_edge_types = arrays.integer_if_any("num_edge_types"),
                               .src_offsets = arrays.integers_if_any("src_offsets"),
                               .dst_offsets = arrays.integers_if_any("dst_offsets"),
                               .edge_offsets = arrays.integers_if_any("edge_offsets")});
    }
    return Graph::from_edges(std::move(src), std::move(dst),
                             {.num_nodes = arrays.integer_if_any("num_nodes"),
                              .edge_types = arrays.ids_if_any("edge_types"),
                              .num_edge_types = arrays.integer_if_any("num_edge_types"),
                              .graph_offsets = arrays.integers_if_any("graph_offsets"),
                              .edge_offsets = arrays.integers_if_any("edge_offsets")});
  });
}

/// What scipy.sparse.save_npz writes: rows are sources, columns destinations.
Graph matrix_graph(const InputFile& file, const Arrays& arrays) {
  const std::string format = arrays.text("format");
  const std::vector<std::int64_t> shape = arrays.integers("shape");
  if (shape.size() != 2)
    file.fail(fmt::format("holds a sparse matrix with {} axes, but a graph needs two", shape.size()));
  const bool square = shape[0] == shape[1];
  if (format == "coo") {
    IdArray rows = arrays.ids("row");
    IdArray columns = arrays.ids("col");
    return file.build([&] {
      return square ? Graph::from_edges(std::move(rows), std::move(columns), {.num_nodes = shape[0]})
                    : Graph::bipartite(std::move(rows), std::move(columns), {.num_src = shape[0], .num_dst = shape[1]});
    });
  }
  if (format != "csr" && format != "csc") {
    file.fail(fmt::format("holds a sparse matrix in format '{}'; coo, csr and csc can be read", format));
  }
  const bool by_source = format == "csr";
  const std::vector<std::int64_t> offsets = arrays.integers("indptr");
  if (static_cast<std::int64_t>(offsets.size()) - 1 != shape[by_source ? 0 : 1]) {
    file.fail(fmt::format("holds a matrix of shape ({}, {}) with {} row pointers", shape[0], shape[1], offsets.size()));
  }
  const auto others = square ? std::nullopt : std::optional(shape[by_source ? 1 : 0]);
  IdArray indices = arrays.ids("indices");
  return file.build([&] {
    return by_source ? Graph::from_csr(offsets, std::move(indices), {.num_others = others})
                     : Graph::from_csc(offsets, std::move(indices), {.num_others = others});
  });
}

}  // namespace

void NpzWriter::add(std::string_view name, const std::string& header, std::span<const std::byte> elements) {
  const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(header)), elements};
  archive_.add(fmt::format("{}.npy", name), parts);
}

void NpzWriter::add(std::string_view name, std::span<const std::int32_t> values) {
  add(name, npy_header("<i4", static_cast<std::int64_t>(values.size())), std::as_bytes(values));
}

void NpzWriter::add(std::string_view name, std::span<const std::int64_t> values) {
  add(name, npy_header("<i8", static_cast<std::int64_t>(values.size())), std::as_bytes(values));
}

void NpzWriter::add_scalar(std::string_view name, std::int64_t value) {
  add(name, npy_header("<i8", -1), std::as_bytes(std::span(&value, 1)));
}

void NpzWriter::add_graph(const Graph& graph) {
  add("src", graph.coo().src);
  add("dst", graph.coo().dst);
  if (graph.is_bipartite()) {
    add_scalar("num_src", graph.num_src());
    add_scalar("num_dst", graph.num_dst());
  } else {
    add_scalar("num_nodes", graph.num_nodes());
  }
  if (!graph.edge_types().empty()) add("edge_types", graph.edge_types());
  if (graph.num_edge_types() > 0) add_scalar("num_edge_types", graph.num_edge_types());
  if (graph.num_graphs() != 1) {
    if (graph.is_bipartite()) {
      add("src_offsets", graph.src_offsets());
      add("dst_offsets", graph.dst_offsets());
    } else {
      add("graph_offsets", graph.graph_offsets());
    }
    add("edge_offsets", graph.edge_offsets());
  }
}

Graph load_npz(const InputFile& file) {
  const Arrays arrays(file);
  return arrays.has("format") ? matrix_graph(file, arrays) : edges_graph(file, arrays);
}

void save_npz(const std::string& path, const Graph& graph) {
  NpzWriter writer(path);
  writer.add_graph(graph);
  writer.commit();
}

}  // namespace bough
