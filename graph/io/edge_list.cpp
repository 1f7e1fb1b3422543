#include "graph/io/edge_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "src/core/files.h"

namespace bough {
namespace {

constexpr std::string_view header_start = "# bough edge list";
constexpr std::string_view separators = " \t\r,";
constexpr std::size_t block_bytes = 1 << 20;
constexpr std::size_t longest_line = 1 << 16;

/// The next word of a line, which loses it; empty at the end.
std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(separators), line.size());
  const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::optional<std::int64_t> parse_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// A word of a file as it may be shown in a message.
std::string printable(std::string_view word) {
  std::string shown;
  for (const char letter : word.substr(0, 40)) shown += letter >= ' ' && letter <= '~' ? letter : '?';
  return word.size() > 40 ? shown + "..." : shown;
}

class EdgeListReader {
 public:
  explicit EdgeListReader(const InputFile& file) : file_(file) {}

  Graph read() {
    for_each_line([this](std::string_view line) { take(line); });
    if (!has_header_ && src_.empty()) file_.fail("holds no edges: an edge list without any needs its header line");
    if (has_header_ && !ends_with_newline_) file_.fail("ends in the middle of a line");
    const auto num_edges = static_cast<std::int64_t>(src_.size());
    if (num_edges_ && *num_edges_ != num_edges) {
      file_.fail(fmt::format("has {} edges, but its header announces {}", num_edges, *num_edges_));
    }
    return file_.build([this] { return graph(); });
  }

 private:
  template <typename Take>
  void for_each_line(Take take_line) {
    std::string text;
    for (std::int64_t offset = 0; offset < file_.size();) {
      const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(block_bytes, file_.size() - offset));
      const std::size_t kept = text.size();
      text.resize(kept + bytes);
      file_.read(offset, text.data() + kept, bytes);
      offset += static_cast<std::int64_t>(bytes);
      std::size_t begin = 0;
      for (std::size_t end = text.find('\n', kept); end != std::string::npos; end = text.find('\n', begin)) {
        take_line(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
      }
      text.erase(0, begin);
      if (text.size() > longest_line) file_.fail(fmt::format("line {} is too long for an edge", line_ + 1));
    }
    ends_with_newline_ = text.empty();
    if (!text.empty()) take_line(text);
  }

  void take(std::string_view line) {
    ++line_;
    if (line.starts_with(header_start)) return take_header(line.substr(header_start.size()));
    std::string_view rest = line;
    const std::string_view first = next_word(rest);
    if (first.empty() || first.front() == '#' || first.front() == '%') return;

    std::array<std::int32_t, 3> values{};
    int columns = 0;
    for (std::string_view word = first; !word.empty(); word = next_word(rest)) {
      if (columns == 3) fail_line("has more than three columns");
      values[static_cast<std::size_t>(columns++)] = id(word);
    }
    if (columns == 1) fail_line("has a source but no destination");
    if (columns_ == 0) columns_ = columns;
    if (columns != columns_) fail_line(fmt::format("has {} columns, but the first edge has {}", columns, columns_));
    src_.push_back(values[0]);
    dst_.push_back(values[1]);
    if (columns == 3) types_.push_back(values[2]);
  }

  std::int32_t id(std::string_view word) const {
    const std::optional<std::int64_t> value = parse_number(word);
    if (!value || *value < 0 || *value >= std::numeric_limits<std::int32_t>::max()) {
      fail_line(fmt::format("'{}' is no id: these are whole numbers from 0 to {}", printable(word),
                            std::numeric_limits<std::int32_t>::max() - 1));
    }
    return static_cast<std::int32_t>(*value);
  }

  void take_header(std::string_view rest) {
    if (line_ != 1) fail_line("a header must be the first line");
    has_header_ = true;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      const std::size_t equals = std::min(word.find('='), word.size());
      std::optional<std::int64_t>* target = count_named(word.substr(0, equals));
      const std::optional<std::int64_t> value = parse_number(word.substr(std::min(equals + 1, word.size())));
      if (target == nullptr || !value || *target) {
        fail_line(
            fmt::format("'{}' has no place in the header: num_nodes=, num_src=, num_dst=, num_edges= and "
                        "num_edge_types= do, each once",
                        printable(word)));
      }
      *target = value;
    }
    if (num_src_.has_value() != num_dst_.has_value() || (num_src_ && num_nodes_)) {
      fail_line("give num_nodes, or num_src and num_dst for a bipartite graph");
    }
  }

  std::optional<std::int64_t>* count_named(std::string_view name) {
    if (name == "num_nodes") return &num_nodes_;
    if (name == "num_src") return &num_src_;
    if (name == "num_dst") return &num_dst_;
    if (name == "num_edges") return &num_edges_;
    if (name == "num_edge_types") return &num_edge_types_;
    return nullptr;
  }

  Graph graph() {
    if (num_src_) {
      return Graph::bipartite(std::move(src_), std::move(dst_),
                              {.num_src = num_src_,
                               .num_dst = num_dst_,
                               .edge_types = std::move(types_),
                               .num_edge_types = num_edge_types_});
    }
    return Graph::from_edges(
        std::move(src_), std::move(dst_),
        {.num_nodes = num_nodes_, .edge_types = std::move(types_), .num_edge_types = num_edge_types_});
  }

  [[noreturn]] void fail_line(std::string_view problem) const {
    file_.fail(fmt::format("line {}: {}", line_, problem));
  }

  const InputFile& file_;
  std::int64_t line_ = 0;
  int columns_ = 0;
  bool has_header_ = false;
  bool ends_with_newline_ = true;
  std::optional<std::int64_t> num_nodes_, num_src_, num_dst_, num_edges_, num_edge_types_;
  std::vector<std::int32_t> src_, dst_, types_;
};

}  // namespace

Graph load_edge_list(const InputFile& file) { return EdgeListReader(file).read(); }

void save_edge_list(const std::string& path, const Graph& graph) {
  AtomicFileWriter file(path);
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}", header_start);
  if (graph.is_bipartite()) {
    fmt::format_to(out, " num_src={} num_dst={}", graph.num_src(), graph.num_dst());
  } else {
    fmt::format_to(out, " num_nodes={}", graph.num_nodes());
  }
  fmt::format_to(out, " num_edges={}", graph.num_edges());
  if (graph.num_edge_types() > 0) fmt::format_to(out, " num_edge_types={}", graph.num_edge_types());
  fmt::format_to(out, "\n");

  const CooView coo = graph.coo();
  for (std::size_t edge = 0; edge < coo.src.size(); ++edge) {
    fmt::format_to(out, "{} {}", coo.src[edge], coo.dst[edge]);
    if (!graph.edge_types().empty()) fmt::format_to(out, " {}", graph.edge_types()[edge]);
    text.push_back('\n');
    if (text.size() >= block_bytes) {
      file.write(text.data(), text.size());
      text.clear();
    }
  }
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace bough
