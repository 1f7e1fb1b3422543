#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/io/checksum.h"
#include "graph/io/zip.h"

namespace bough {
namespace {

constexpr std::uint32_t largest32 = 0xffffffffu;
constexpr std::uint64_t largest16 = 0xffffu;
constexpr std::uint16_t plain_version = 20;
constexpr std::uint16_t zip64_version = 45;
constexpr std::uint16_t zip64_extra = 1;
constexpr std::uint32_t first_date = 0x00210000;  ///< 1980-01-01 0:00, so that equal input gives equal files

/// Numbers one after the other, little-endian without padding.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(static_cast<std::uint16_t>(value)); }
  Record& u32(std::uint64_t value) { return number(static_cast<std::uint32_t>(value)); }
  Record& u64(std::uint64_t value) { return number(value); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  template <typename T>
  Record& number(T value) {
    static_assert(std::endian::native == std::endian::little);
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
    return *this;
  }

  std::string bytes_;
};

/// What stands in a field of 32 bits; the full value is in the zip64 record if that is not it.
std::uint64_t field32(std::uint64_t value) { return value < largest32 ? value : largest32; }

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  offset_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::span<const std::byte>> parts) {
  Written entry{std::string(name), 0, 0, offset_};
  for (const auto part : parts) {
    entry.checksum = crc32_of(part.data(), part.size(), entry.checksum);
    entry.size += part.size();
  }
  const bool large = entry.size >= largest32;
  Record extra;
  if (large) extra.u16(zip64_extra).u16(16).u64(entry.size).u64(entry.size);
  Record header;
  header.u32(0x04034b50).u16(large ? zip64_version : plain_version).u16(0).u16(0).u32(first_date).u32(entry.checksum);
  header.u32(field32(entry.size)).u32(field32(entry.size)).u16(name.size()).u16(extra.bytes().size());
  write(header.text(name).text(extra.bytes()).bytes());
  for (const auto part : parts) write({reinterpret_cast<const char*>(part.data()), part.size()});
  entries_.push_back(std::move(entry));
}

bool ZipWriter::has(std::string_view name) const {
  return std::ranges::find(entries_, name, &Written::name) != entries_.end();
}

void ZipWriter::commit() {
  const std::uint64_t directory = offset_;
  for (const Written& entry : entries_) {
    Record extra;
    if (entry.size >= largest32) extra.u64(entry.size).u64(entry.size);
    if (entry.offset >= largest32) extra.u64(entry.offset);
    const std::size_t extra_bytes = extra.bytes().empty() ? 0 : extra.bytes().size() + 4;
    const std::uint16_t needed = extra_bytes > 0 ? zip64_version : plain_version;
    Record record;
    record.u32(0x02014b50).u16(needed).u16(needed).u16(0).u16(0).u32(first_date).u32(entry.checksum);
    record.u32(field32(entry.size)).u32(field32(entry.size)).u16(entry.name.size()).u16(extra_bytes).u16(0);
    record.u16(0).u16(0).u32(0).u32(field32(entry.offset)).text(entry.name);
    if (extra_bytes > 0) record.u16(zip64_extra).u16(extra.bytes().size()).text(extra.bytes());
    write(record.bytes());
  }
  const std::uint64_t end = offset_;
  const std::uint64_t count = entries_.size();
  const std::uint64_t count16 = std::min<std::uint64_t>(count, largest16);
  Record record;
  if (directory >= largest32 || count >= largest16) {
    record.u32(0x06064b50).u64(44).u16(zip64_version).u16(zip64_version).u32(0).u32(0).u64(count).u64(count);
    record.u64(end - directory).u64(directory);
    record.u32(0x07064b50).u32(0).u64(end).u32(1);
  }
  record.u32(0x06054b50).u16(0).u16(0).u16(count16).u16(count16).u32(end - directory).u32(field32(directory)).u16(0);
  write(record.bytes());
  file_.commit();
}

}  // namespace bough
