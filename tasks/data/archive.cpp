#include "tasks/data/archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bough/core/errors.h"

namespace bough {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = 512;
using Block = std::array<char, block_bytes>;

/// Fields of a header: where they begin and how many bytes they have.
constexpr std::size_t name_at = 0, name_bytes = 100, size_at = 124, size_bytes = 12, checksum_at = 148,
                      checksum_bytes = 8, type_at = 156, magic_at = 257, prefix_at = 345, prefix_bytes = 155;

[[noreturn]] void refuse(const std::string& archive, const std::string& reason) {
  throw IoError("data", fmt::format("'{}' is a damaged tar archive: {}", archive, reason));
}

std::string text_field(const Block& block, std::size_t at, std::size_t bytes) {
  const std::string_view field(block.data() + at, bytes);
  return std::string(field.substr(0, field.find('\0')));
}

std::int64_t octal_field(const Block& block, std::size_t at, std::size_t bytes, const std::string& archive) {
  std::int64_t number = 0;
  bool any = false;
  for (const char digit : std::string_view(block.data() + at, bytes)) {
    if (digit == ' ' && !any) continue;
    if (digit == ' ' || digit == '\0') break;
    if (digit < '0' || digit > '7') refuse(archive, "a number in it is not octal");
    number = 8 * number + (digit - '0');
    any = true;
  }
  return number;
}

/// The sum of all bytes, those of the checksum itself counted as spaces.
bool has_right_checksum(const Block& block, const std::string& archive) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    const bool own = i >= checksum_at && i < checksum_at + checksum_bytes;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum == octal_field(block, checksum_at, checksum_bytes, archive);
}

/// Reads blocks of an archive in order.
class BlockReader {
 public:
  BlockReader(gzFile file, std::string archive) : file_(file), archive_(std::move(archive)) {}

  /// False at the end of the archive.
  bool next(Block& block) {
    const int bytes = ::gzread(file_, block.data(), block_bytes);
    if (bytes == 0) return false;
    if (bytes != static_cast<int>(block_bytes)) refuse(archive_, "it ends too early");
    return true;
  }
  void skip(std::int64_t bytes) {
    Block block;
    for (std::int64_t left = bytes; left > 0; left -= static_cast<std::int64_t>(block_bytes)) {
      if (!next(block)) refuse(archive_, "it ends too early");
    }
  }
  std::string text(std::int64_t bytes) {
    constexpr std::int64_t longest_name = 1 << 16;
    if (bytes > longest_name) refuse(archive_, fmt::format("a name has {} bytes", bytes));
    std::string result;
    Block block;
    while (std::ssize(result) < bytes) {
      if (!next(block)) refuse(archive_, "it ends too early");
      result.append(block.data(), block_bytes);
    }
    return result.substr(0, result.find('\0'));
  }

 private:
  gzFile file_;
  std::string archive_;
};

std::string name_in(const Block& header) {
  std::string name = text_field(header, name_at, name_bytes);
  // Only the POSIX format has a prefix; there GNU's magic is "ustar  ".
  const bool has_prefix = std::string_view(header.data() + magic_at, 6) == std::string_view("ustar\0", 6);
  const std::string prefix = has_prefix ? text_field(header, prefix_at, prefix_bytes) : "";
  return prefix.empty() ? name : prefix + "/" + name;
}

std::string plain_name(const std::string& name) { return fs::path(name).lexically_normal().string(); }

}  // namespace

std::optional<ArchiveMember> archive_member(const std::string& path) {
  const auto is_archive = [](const fs::path& file) {
    const std::string name = file.filename().string();
    std::error_code ignored;
    return (name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz")) &&
           fs::is_regular_file(file, ignored);
  };
  const fs::path whole(path);
  for (fs::path front = whole.parent_path(); front != front.parent_path() && !front.empty();
       front = front.parent_path()) {
    if (is_archive(front)) return ArchiveMember{front.string(), whole.lexically_relative(front).string()};
  }
  return {};
}

std::int64_t find_in_archive(gzFile_s* file, const ArchiveMember& wanted) {
  BlockReader blocks(file, wanted.archive);
  const std::string name = plain_name(wanted.member);
  std::vector<std::string> seen;
  std::string long_name;
  for (Block header; blocks.next(header);) {
    if (std::ranges::all_of(header, [](char byte) { return byte == '\0'; })) break;
    if (!has_right_checksum(header, wanted.archive)) refuse(wanted.archive, "a header has the wrong checksum");
    const std::int64_t bytes = octal_field(header, size_at, size_bytes, wanted.archive);
    const char type = header[type_at];
    if (type == 'L') {  // GNU: the name of the next entry
      long_name = blocks.text(bytes);
      continue;
    }
    const std::string own = plain_name(long_name.empty() ? name_in(header) : long_name);
    const bool is_file = type == '0' || type == '\0';
    if (is_file && own == name) return bytes;
    if (is_file) seen.push_back(own);
    if (type != 'x' && type != 'g') long_name.clear();
    blocks.skip(bytes);
  }
  throw IoError("data", fmt::format("the archive '{}' has no file '{}'; it has {}", wanted.archive, wanted.member,
                                    seen.empty() ? "none" : fmt::format("{}", fmt::join(seen, ", "))));
}

}  // namespace bough
