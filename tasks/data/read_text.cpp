#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "bough/core/errors.h"
#include "bough/tasks/corpus.h"
#include "src/core/files.h"

namespace bough {
namespace {

bool is_gzip(const std::string& bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string unpack(const std::string& path, const std::string& packed, std::int64_t limit) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;  // the largest window, gzip header and checksum expected
  if (::inflateInit2(&stream, gzip_window) != Z_OK) throw AllocationError("read_text", "zlib could not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::inflateEnd);

  std::string text;
  std::size_t consumed = 0;
  std::array<char, 1 << 16> buffer;
  int status = Z_OK;
  while (status != Z_STREAM_END || consumed < packed.size()) {
    // Gzip files may be several one after the other, and larger than zlib's 32-bit counters.
    if (status == Z_STREAM_END && ::inflateReset(&stream) != Z_OK) break;
    const std::size_t chunk = std::min<std::size_t>(packed.size() - consumed, 1 << 20);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + consumed));
    stream.avail_in = static_cast<uInt>(chunk);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = ::inflate(&stream, Z_NO_FLUSH);
    consumed += chunk - stream.avail_in;
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    if (static_cast<std::int64_t>(text.size()) > limit) {
      throw IoError("read_text", fmt::format("'{}' unpacks to more than {} bytes", path, limit));
    }
    const bool stuck = status == Z_BUF_ERROR || (chunk == 0 && stream.avail_out != 0);
    if (status != Z_STREAM_END && (status != Z_OK || stuck)) {
      throw IoError("read_text", fmt::format("'{}' is damaged: {}", path,
                                             consumed == packed.size() ? "it ends too early"
                                             : stream.msg != nullptr   ? stream.msg
                                                                       : "not a gzip stream"));
    }
  }
  return text;
}

}  // namespace

std::string read_text(const std::string& path, std::int64_t limit) {
  std::string bytes = read_file(path, limit);
  return is_gzip(bytes) ? unpack(path, bytes, limit) : bytes;
}

}  // namespace bough
