#include "tasks/data/line_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "bough/core/errors.h"
#include "tasks/data/archive.h"

namespace bough {
namespace {

constexpr std::size_t chunk_bytes = 1 << 18, longest_line = std::size_t{1} << 30;
constexpr std::int64_t whole_file = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct LineReader::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle != nullptr) ::gzclose(handle);
  }
};

LineReader::LineReader(std::string path)
    : path_(std::move(path)), file_(std::make_unique<File>()), buffer_(chunk_bytes), left_(whole_file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    throw IoError("data", fmt::format("'{}' is a folder, a file is wanted", path_));
  }
  const auto member = archive_member(path_);
  errno = 0;
  file_->handle = ::gzopen(member ? member->archive.c_str() : path_.c_str(), "rb");
  if (file_->handle == nullptr) {
    throw IoError("data", fmt::format("'{}' cannot be read: {}", path_, std::strerror(errno == 0 ? ENOMEM : errno)));
  }
  if (member) left_ = find_in_archive(file_->handle, *member);
}

LineReader::~LineReader() = default;

bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= longest_line) {
      throw IoError("data", fmt::format("{}: the line has more than {} bytes; is it a text?", place(), longest_line));
    }
    buffer_.resize(2 * buffer_.size());
  }
  const auto wanted = std::min<std::int64_t>(left_, static_cast<std::int64_t>(buffer_.size() - end_));
  const int bytes = ::gzread(file_->handle, buffer_.data() + end_, static_cast<unsigned>(wanted));
  int error = Z_OK;
  const char* reason = ::gzerror(file_->handle, &error);
  // A gzip file that ends too early is told by Z_BUF_ERROR alone.
  const bool cut = error == Z_BUF_ERROR || (bytes == 0 && wanted > 0 && left_ < whole_file);
  if (bytes < 0 || cut) {
    throw IoError("data", fmt::format("'{}' is damaged: {}", path_,
                                      error == Z_ERRNO ? std::strerror(errno)
                                      : cut            ? "it ends too early"
                                                       : reason));
  }
  at_end_ = bytes == 0;
  if (left_ < whole_file) left_ -= bytes;
  end_ += static_cast<std::size_t>(bytes);
  return !at_end_;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  while (true) {
    const char* data = buffer_.data() + begin_;
    const void* found = std::memchr(data + searched, '\n', end_ - begin_ - searched);
    if (found == nullptr) {
      searched = end_ - begin_;
      if (fill()) continue;
      if (searched == 0) return false;
    }
    data = buffer_.data() + begin_;
    std::size_t length = found == nullptr ? searched : static_cast<std::size_t>(static_cast<const char*>(found) - data);
    begin_ += length + (found == nullptr ? 0 : 1);
    if (length > 0 && data[length - 1] == '\r') --length;
    ++number_;
    line = {data, length};
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (number_ == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    return true;
  }
}

std::string LineReader::place() const { return fmt::format("{}, line {}", path_, number_); }

std::int64_t parse_lines(const std::string& path, bool skip_bad, FunctionRef<void(std::string_view)> parse) {
  LineReader reader(path);
  std::int64_t skipped = 0;
  for (std::string_view line; reader.next(line);) {
    try {
      parse(line);
    } catch (const ConfigError& error) {
      if (!skip_bad) {
        const std::string_view message = error.what();
        throw IoError("data", fmt::format("{}: {}; \"skip_bad\": true leaves such lines out", reader.place(),
                                          message.substr(message.find("] ") + 2)));
      }
      ++skipped;
    }
  }
  return skipped;
}

}  // namespace bough
