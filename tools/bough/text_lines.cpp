#include "tools/bough/text_lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "bough/core/errors.h"

namespace bough::cli {
namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b";

}  // namespace

TextLines::TextLines(const std::string& path) {
  if (!path.empty() && path != "-") file_ = std::make_unique<LineReader>(path);
}

void TextLines::read_more() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  std::array<char, 1 << 16> chunk;
  ssize_t bytes = 0;
  do {
    bytes = ::read(STDIN_FILENO, chunk.data(), chunk.size());
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0) throw IoError("predict", fmt::format("stdin cannot be read: {}", std::strerror(errno)));
  at_end_ = bytes == 0;
  buffer_.append(chunk.data(), static_cast<std::size_t>(bytes));
  if (number_ == 0 && buffer_.starts_with(gzip_magic)) {
    throw IoError("predict", "stdin is compressed; name the file instead, or use zcat");
  }
}

bool TextLines::is_ready() {
  if (file_ != nullptr) return true;
  while (!at_end_ && !has_line()) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, 0) == 0) return false;
    read_more();
  }
  return true;
}

bool TextLines::next(std::string& line) {
  if (file_ != nullptr) {
    std::string_view given;
    if (!file_->next(given)) return false;
    line = given;
    return true;
  }
  while (!at_end_ && !has_line()) read_more();
  if (begin_ == buffer_.size()) return false;
  const std::size_t end = std::min(buffer_.find('\n', begin_), buffer_.size());
  line.assign(buffer_, begin_, end - begin_);
  if (line.ends_with('\r')) line.pop_back();
  begin_ = std::min(end + 1, buffer_.size());
  ++number_;
  return true;
}

std::string TextLines::place() const {
  return file_ != nullptr ? file_->place() : fmt::format("stdin, line {}", number_);
}

}  // namespace bough::cli
