#include "graph/io/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "graph/io/npy.h"
#include "src/core/nearest_name.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// Every array that means something in a graph of edges, and in a matrix of scipy, which is known by its format.
constexpr std::array<std::string_view, 11> edge_graph_names{
    "src",           "dst",         "edge_types",  "num_nodes",   "num_src", "num_dst", "num_edge_types",
    "graph_offsets", "src_offsets", "dst_offsets", "edge_offsets"};
constexpr std::array<std::string_view, 6> matrix_names{"format", "shape", "row", "col", "indptr", "indices"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The array of a graph that a name of another array may be meant for; empty if there is none. Only one edit, capital
/// letters aside, makes a slip (edge_type, num_node): names of a user's own are often two or three edits away, as
/// node_types and feature_offsets. `has` says which of the graph's arrays are there: a name that is near to one of
/// those is no slip, as dist beside dst.
std::string meant_by(std::string_view name, FunctionRef<bool(std::string_view)> has) {
  std::vector<std::string> lacking;
  for (const std::string_view known : edge_graph_names) {
    if (!has(known)) lacking.emplace_back(known);
  }
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(lacking, lower) != lacking.end()) return lower;
  return nearest_name(lower, lacking, 1);
}

constexpr std::string_view suffix = ".npy";

/// The name of an array without the suffix that the archive gives it.
std::string array_name(const InputFile& file, const ZipEntry& entry) {
  if (!entry.name.ends_with(suffix)) file.fail(fmt::format("holds '{}', which is no NumPy array", entry.name));
  return entry.name.substr(0, entry.name.size() - suffix.size());
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

  bool is_matrix() const { return has("format"); }

  /// A slip in the name of an optional array would otherwise go unnoticed.
  void require_no_slips() const {
    for (const ZipEntry& found : archive_.entries()) {
      const std::string name = array_name(file_, found);
      if (is_among(edge_graph_names, name)) continue;
      const std::string meant = meant_by(name, [&](std::string_view known) { return has(known); });
      if (!meant.empty()) file_.fail(fmt::format("holds an array '{}'; is '{}' meant?", name, meant));
    }
  }

  /// The tensors whose names are wanted.
  NamedTensors tensors(FunctionRef<bool(std::string_view)> wanted) const {
    NamedTensors tensors;
    for (const ZipEntry& found : archive_.entries()) {
      const std::string name = array_name(file_, found);
      if (wanted(name)) tensors.emplace(name, read_npy_tensor(file_, found));
    }
    return tensors;
  }

 private:
  const ZipEntry* entry(std::string_view name) const { return archive_.find(fmt::format("{}{}", name, suffix)); }
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
  archive_.add(fmt::format("{}{}", name, suffix), parts);
}

void NpzWriter::add(std::string_view name, std::span<const std::int32_t> values) {
  const std::array shape{static_cast<std::int64_t>(values.size())};
  add(name, npy_header("<i4", shape), std::as_bytes(values));
}

void NpzWriter::add(std::string_view name, std::span<const std::int64_t> values) {
  const std::array shape{static_cast<std::int64_t>(values.size())};
  add(name, npy_header("<i8", shape), std::as_bytes(values));
}

void NpzWriter::add_scalar(std::string_view name, std::int64_t value) {
  add(name, npy_header("<i8", {}), std::as_bytes(std::span(&value, 1)));
}

void NpzWriter::add(std::string_view name, const Tensor& tensor) {
  const auto descr = [&]() -> std::string_view {
    switch (tensor.dtype()) {
      case DType::float32:
        return "<f4";
      case DType::float64:
        return "<f8";
      case DType::int32:
        return "<i4";
      case DType::int64:
        return "<i8";
      case DType::boolean:
        return "|b1";
      case DType::bfloat16:
        break;
    }
    throw TypeError("save_npz", fmt::format("'{}' is bfloat16, which NumPy lacks; cast() it to float32", name));
  }();
  const Tensor here = tensor.detach().to(Device::cpu());
  const auto bytes = static_cast<std::size_t>(here.elements()) * size_of(here.dtype());
  add(name, npy_header(descr, here.shape().extents()),
      std::span(static_cast<const std::byte*>(device_address(here)), bytes));
}

bool NpzWriter::has(std::string_view name) const { return archive_.has(fmt::format("{}{}", name, suffix)); }

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

namespace {

Graph npz_graph(const InputFile& file, const Arrays& arrays) {
  return arrays.is_matrix() ? matrix_graph(file, arrays) : edges_graph(file, arrays);
}

void require_archive(const InputFile& file) {
  if (!is_zip(file)) file.fail("is not a NumPy .npz archive");
}

void add_tensors(NpzWriter& writer, const NamedTensors& tensors) {
  constexpr std::size_t longest_name = 1000;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name.size() > longest_name) {
      throw IoError("save_npz",
                    fmt::format("the name of a tensor must have 1 to {} bytes, not {}", longest_name, name.size()));
    }
    throw_if_missing(tensor);
    if (!tensor.defined()) throw IoError("save_npz", fmt::format("the tensor '{}' is undefined", name));
    writer.add(name, tensor);
  }
}

/// IoError for names that load_graph would take for arrays of the graph, which has been written.
void require_free_names(const NpzWriter& writer, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (is_among(edge_graph_names, name) || name == "format") {
      throw IoError("save_npz",
                    fmt::format("'{}' is the name of an array of the graph; give the tensor another", name));
    }
    const std::string meant = meant_by(name, [&](std::string_view known) { return writer.has(known); });
    if (!meant.empty()) {
      throw IoError("save_npz", fmt::format("'{}' would be taken for the array '{}' of a graph when it is loaded; give "
                                            "the tensor another name",
                                            name, meant));
    }
  }
}

}  // namespace

const Tensor& NamedTensors::at(const std::string& name) const {
  const auto found = find(name);
  if (found != end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, tensor] : *this) known.push_back(other);
  throw IndexError("tensors", fmt::format("there is no '{}'{}", name,
                                          known.empty() ? ", nor any other"
                                                        : fmt::format("{}; known are {}", did_you_mean(name, known),
                                                                      fmt::join(known, ", "))));
}

Tensor& NamedTensors::at(const std::string& name) { return const_cast<Tensor&>(std::as_const(*this).at(name)); }

Graph load_npz_graph(const InputFile& file) { return npz_graph(file, Arrays(file)); }

NamedTensors load_npz(const InputFile& file) {
  require_archive(file);
  return Arrays(file).tensors([](std::string_view) { return true; });
}

GraphWithTensors load_graph_with_tensors(const InputFile& file) {
  if (!is_zip(file)) return {load_graph(file), {}};
  const Arrays arrays(file);
  const auto is_tensor = [&](std::string_view name) {
    return arrays.is_matrix() ? !is_among(matrix_names, name) : !is_among(edge_graph_names, name);
  };
  return {load_graph(file), arrays.tensors(is_tensor)};
}

void save_npz(const std::string& path, const NamedTensors& tensors) {
  NpzWriter writer(path);
  add_tensors(writer, tensors);
  writer.commit();
}

void save_npz(const std::string& path, const Graph& graph, const NamedTensors& tensors) {
  NpzWriter writer(path);
  writer.add_graph(graph);
  require_free_names(writer, tensors);
  add_tensors(writer, tensors);
  writer.commit();
}

}  // namespace bough
