#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "graph/io/checksum.h"
#include "graph/io/zip.h"

namespace bough {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator64_signature = 0x07064b50;
constexpr std::int64_t local_bytes = 30;
constexpr std::int64_t central_bytes = 46;
constexpr std::int64_t end_bytes = 22;
constexpr std::int64_t end64_bytes = 56;
constexpr std::int64_t locator64_bytes = 20;
constexpr std::int64_t longest_comment = 65535;
constexpr std::int64_t largest_directory = 1 << 24;
constexpr std::int64_t best_deflate_ratio = 1032;
constexpr std::uint32_t in_zip64 = 0xffffffffu;  ///< in a field of 32 bits: the value is in the zip64 record

/// Little-endian numbers from a block of the file; reading past its end is an error of the file.
class Fields {
 public:
  Fields(const InputFile& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::uint16_t u16() { return take<std::uint16_t>(); }
  std::uint32_t u32() { return take<std::uint32_t>(); }
  std::uint64_t u64() { return take<std::uint64_t>(); }

  std::string_view take_bytes(std::size_t count) {
    if (count > bytes_.size()) file_.fail("has a damaged zip directory");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  const InputFile& file_;
  std::string_view bytes_;
};

std::string read_block(const InputFile& file, std::int64_t offset, std::int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > file.size() || bytes > file.size() - offset) {
    file.fail("has a damaged zip directory");
  }
  std::string block(static_cast<std::size_t>(bytes), '\0');
  file.read(offset, block.data(), block.size());
  return block;
}

std::int64_t to_signed(const InputFile& file, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    file.fail("has a damaged zip directory");
  return static_cast<std::int64_t>(value);
}

struct Directory {
  std::int64_t offset;
  std::int64_t bytes;
  std::int64_t num_entries;
};

/// The zip64 end record, for archives beyond 4 GB; `end` is where the ordinary one begins.
Directory find_directory64(const InputFile& file, std::int64_t end) {
  const std::string locator_bytes = read_block(file, end - locator64_bytes, locator64_bytes);
  Fields locator(file, locator_bytes);
  if (locator.u32() != locator64_signature || locator.u32() != 0) file.fail("has a damaged zip64 directory");
  const std::int64_t record_offset = to_signed(file, locator.u64());
  const std::string record_bytes = read_block(file, record_offset, end64_bytes);
  Fields record(file, record_bytes);
  if (record.u32() != end64_signature) file.fail("has a damaged zip64 directory");
  record.take_bytes(8 + 2 + 2);  // its size, versions
  if (record.u32() != 0 || record.u32() != 0) file.fail("is part of a zip archive on several disks");
  const std::uint64_t entries_here = record.u64();
  const std::uint64_t entries = record.u64();
  const std::int64_t bytes = to_signed(file, record.u64());
  const std::int64_t offset = to_signed(file, record.u64());
  if (entries_here != entries || offset > record_offset || bytes != record_offset - offset) {
    file.fail("has a damaged zip64 directory");
  }
  return {offset, bytes, to_signed(file, entries)};
}

Directory find_directory(const InputFile& file) {
  const std::int64_t tail_bytes = std::min(file.size(), end_bytes + longest_comment);
  const std::string tail = read_block(file, file.size() - tail_bytes, tail_bytes);
  for (std::int64_t at = tail_bytes - end_bytes; at >= 0; --at) {
    Fields record(file, std::string_view(tail).substr(static_cast<std::size_t>(at)));
    if (record.u32() != end_signature) continue;
    const std::uint16_t disk = record.u16();
    const std::uint16_t first_disk = record.u16();
    const std::uint16_t entries_here = record.u16();
    const std::uint16_t entries = record.u16();
    const std::uint32_t bytes = record.u32();
    const std::uint32_t offset = record.u32();
    const std::uint16_t comment = record.u16();
    if (at + end_bytes + comment != tail_bytes) continue;  // the signature inside a comment
    const std::int64_t end = file.size() - tail_bytes + at;
    if (entries == 0xffff || bytes == in_zip64 || offset == in_zip64) return find_directory64(file, end);
    if (disk != 0 || first_disk != 0 || entries_here != entries) file.fail("is part of a zip archive on several disks");
    if (std::int64_t{offset} + bytes != end) file.fail("has a damaged zip directory");
    return {offset, bytes, entries};
  }
  file.fail("is cut short: a zip archive without its directory");
}

/// Replaces sizes and offset that did not fit in 32 bits by those of the extra field.
void take_zip64_extra(const InputFile& file, std::string_view extra, std::array<std::int64_t*, 3> values) {
  for (Fields fields(file, extra); !fields.empty();) {
    const std::uint16_t kind = fields.u16();
    const std::uint16_t bytes = fields.u16();
    Fields content(file, fields.take_bytes(bytes));
    if (kind != 1) continue;
    for (std::int64_t* value : values) {
      if (*value == in_zip64) *value = to_signed(file, content.u64());
    }
    return;
  }
}

/// Where the data begin: after the entry's own header, which must agree with the directory.
std::int64_t data_offset(const InputFile& file, const ZipEntry& entry, std::uint16_t method,
                         std::int64_t header_offset) {
  const std::string header_bytes = read_block(file, header_offset, local_bytes);
  Fields header(file, header_bytes);
  const std::uint32_t signature = header.u32();
  header.take_bytes(2 + 2);  // version, flags
  const std::uint16_t own_method = header.u16();
  header.take_bytes(2 + 2 + 4 + 4 + 4);  // time, date, checksum and sizes: zero if they follow the data
  const std::uint16_t name_bytes = header.u16();
  const std::uint16_t extra_bytes = header.u16();
  if (signature != local_signature || own_method != method ||
      read_block(file, header_offset + local_bytes, name_bytes) != entry.name) {
    file.fail(fmt::format("is damaged: the header of '{}' does not agree with the directory", entry.name));
  }
  return header_offset + local_bytes + name_bytes + extra_bytes;
}

ZipEntry read_entry(const InputFile& file, Fields& directory, std::int64_t directory_offset) {
  if (directory.u32() != central_signature) file.fail("has a damaged zip directory");
  directory.take_bytes(2 + 2);  // versions
  const std::uint16_t flags = directory.u16();
  const std::uint16_t method = directory.u16();
  directory.take_bytes(2 + 2);  // time, date
  ZipEntry entry;
  entry.checksum = directory.u32();
  entry.compressed_size = directory.u32();
  entry.size = directory.u32();
  const std::uint16_t name_bytes = directory.u16();
  const std::uint16_t extra_bytes = directory.u16();
  const std::uint16_t comment_bytes = directory.u16();
  directory.take_bytes(2 + 2 + 4);  // disk, attributes
  std::int64_t header_offset = directory.u32();
  entry.name = std::string(directory.take_bytes(name_bytes));
  const std::string_view extra = directory.take_bytes(extra_bytes);
  directory.take_bytes(comment_bytes);
  take_zip64_extra(file, extra, {&entry.size, &entry.compressed_size, &header_offset});

  if ((flags & 1) != 0) file.fail(fmt::format("is encrypted ('{}')", entry.name));
  if (method != 0 && method != 8) {
    file.fail(fmt::format("uses compression method {} for '{}'; only none and deflate are known", method, entry.name));
  }
  entry.deflated = method == 8;
  entry.data_offset = data_offset(file, entry, method, header_offset);
  if (entry.data_offset > directory_offset || entry.compressed_size > directory_offset - entry.data_offset) {
    file.fail(fmt::format("is damaged: '{}' does not fit in it", entry.name));
  }
  const bool possible =
      entry.deflated ? entry.size / best_deflate_ratio <= entry.compressed_size : entry.size == entry.compressed_size;
  if (!possible) {
    file.fail(fmt::format("is damaged: '{}' cannot have {} bytes stored in {}", entry.name, entry.size,
                          entry.compressed_size));
  }
  return entry;
}

}  // namespace

bool is_zip(const InputFile& file) {
  std::uint32_t start = 0;
  if (file.size() < static_cast<std::int64_t>(sizeof(start))) return false;
  file.read(0, &start, sizeof(start));
  return start == local_signature || start == end_signature;
}

ZipArchive::ZipArchive(const InputFile& file) : file_(file) {
  const Directory directory = find_directory(file);
  if (directory.bytes > largest_directory || directory.num_entries > directory.bytes / central_bytes) {
    file.fail("has a damaged zip directory");
  }
  const std::string bytes = read_block(file, directory.offset, directory.bytes);
  Fields fields(file, bytes);
  for (std::int64_t i = 0; i < directory.num_entries; ++i)
    entries_.push_back(read_entry(file, fields, directory.offset));
  if (!fields.empty()) file.fail("has a damaged zip directory");
  std::ranges::sort(entries_, {}, &ZipEntry::name);
  const auto twin = std::ranges::adjacent_find(entries_, {}, &ZipEntry::name);
  if (twin != entries_.end()) file.fail(fmt::format("holds '{}' twice", twin->name));
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &ZipEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

/// zlib's state and the compressed bytes it works on.
struct ZipEntryReader::Inflater {
  Inflater() {
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream); }

  z_stream stream{};
  std::array<Bytef, 65536> input{};
  std::int64_t fetched = 0;
};

ZipEntryReader::ZipEntryReader(const InputFile& file, const ZipEntry& entry) : file_(file), entry_(entry) {
  if (entry.deflated) inflater_ = std::make_unique<Inflater>();
}

ZipEntryReader::~ZipEntryReader() = default;

void ZipEntryReader::read(void* to, std::size_t bytes) {
  if (static_cast<std::int64_t>(bytes) > remaining()) fail("is shorter than it should be");
  if (!entry_.deflated) {
    file_.read(entry_.data_offset + done_, to, bytes);
  } else {
    z_stream& stream = inflater_->stream;
    stream.next_out = static_cast<Bytef*>(to);
    for (std::size_t left = bytes; left > 0;) {
      if (stream.avail_in == 0) {
        const std::int64_t more = std::min<std::int64_t>(static_cast<std::int64_t>(inflater_->input.size()),
                                                         entry_.compressed_size - inflater_->fetched);
        file_.read(entry_.data_offset + inflater_->fetched, inflater_->input.data(), static_cast<std::size_t>(more));
        inflater_->fetched += more;
        stream.next_in = inflater_->input.data();
        stream.avail_in = static_cast<uInt>(more);
      }
      const auto step = static_cast<uInt>(std::min<std::size_t>(left, 1u << 30));
      stream.avail_out = step;
      const int status = ::inflate(&stream, Z_NO_FLUSH);
      left -= step - stream.avail_out;
      if (status == Z_STREAM_END && left > 0) fail("is shorter than it should be");
      if (status != Z_OK && status != Z_STREAM_END) fail("has damaged compressed data");
    }
  }
  checksum_ = crc32_of(to, bytes, checksum_);
  done_ += static_cast<std::int64_t>(bytes);
}

void ZipEntryReader::finish() {
  if (remaining() != 0) fail("is longer than it should be");
  if (checksum_ != entry_.checksum) fail("is damaged: its checksum is wrong");
}

void ZipEntryReader::fail(std::string_view problem) const {
  file_.fail(fmt::format("is not as it should be: '{}' {}", entry_.name, problem));
}

}  // namespace bough
