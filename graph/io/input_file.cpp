#include "graph/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bough/core/errors.h"

namespace bough {

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK opening a named pipe would wait for a writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat info {};
  const bool regular = ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) {
    ::close(descriptor_);
    fail("is not a regular file");
  }
  size_ = info.st_size;
}

InputFile::InputFile(std::string name, std::string content)
    : path_(std::move(name)), content_(std::move(content)), size_(static_cast<std::int64_t>(content_.size())) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::int64_t offset, void* to, std::size_t bytes) const {
  if (offset < 0 || offset > size_ || static_cast<std::int64_t>(bytes) > size_ - offset) fail("is cut short");
  if (descriptor_ < 0) {
    std::copy_n(content_.data() + offset, bytes, static_cast<char*>(to));
    return;
  }
  auto* next = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, next, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) fail("is cut short");
    next += got;
    offset += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void InputFile::fail(std::string_view problem) const { throw IoError("load", fmt::format("'{}' {}", path_, problem)); }

Graph InputFile::build(FunctionRef<Graph()> make) const {
  Graph graph;
  try {
    graph = make();
  } catch (const GraphError& error) {
    fail(fmt::format("does not hold a graph: {}", error.what()));
  }
  const std::int64_t limit = std::max<std::int64_t>(1 << 24, 64 * graph.num_edges());
  for (const auto& [count, what] : {std::pair(std::max(graph.num_src(), graph.num_dst()), "nodes"),
                                    std::pair(graph.num_edge_types(), "edge types")}) {
    if (count > limit) {
      fail(fmt::format("announces {} {}, but with {} edges at most {} are accepted", count, what, graph.num_edges(),
                       limit));
    }
  }
  return graph;
}

}  // namespace bough
