#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/io/input_file.h"
#include "src/core/files.h"

/// As much of the zip format as .npz files use: entries stored or deflated, sizes up to 2^63 (zip64), one disk, no
/// encryption. Whatever else a file holds is an IoError.
namespace bough {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;
  std::int64_t compressed_size = 0;
  std::int64_t size = 0;
  std::int64_t data_offset = 0;
};

/// The table of contents of an archive. Names are unique, data lie inside the file, and sizes are possible ones: equal
/// for stored entries, within the reach of deflate (1032 to 1) for others.
class ZipArchive {
 public:
  explicit ZipArchive(const InputFile& file);

  const InputFile& file() const { return file_; }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;

 private:
  const InputFile& file_;
  std::vector<ZipEntry> entries_;
};

bool is_zip(const InputFile& file);

/// The content of one entry from beginning to end.
class ZipEntryReader {
 public:
  ZipEntryReader(const InputFile& file, const ZipEntry& entry);
  ~ZipEntryReader();

  std::int64_t remaining() const { return entry_.size - done_; }
  /// IoError if the entry ends before or its compressed form is damaged.
  void read(void* to, std::size_t bytes);
  /// IoError unless everything has been read and the checksum is right.
  void finish();
  /// IoError naming file and entry.
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  struct Inflater;

  const InputFile& file_;
  const ZipEntry& entry_;
  std::int64_t done_ = 0;
  std::uint32_t checksum_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

/// Writes stored entries. The same input gives the same bytes.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}

  /// An entry whose content is the parts one after the other.
  void add(std::string_view name, std::span<const std::span<const std::byte>> parts);
  bool has(std::string_view name) const;
  void commit();

 private:
  struct Written {
    std::string name;
    std::uint32_t checksum;
    std::uint64_t size;
    std::uint64_t offset;
  };

  void write(std::string_view bytes);

  AtomicFileWriter file_;
  std::vector<Written> entries_;
  std::uint64_t offset_ = 0;
};

}  // namespace bough
