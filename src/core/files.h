#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bough {

/// The whole file. IoError naming path and reason if it cannot be read, is not a regular file, or is larger than limit;
/// the size is looked at before anything is allocated.
std::string read_file(const std::string& path, std::int64_t limit);

/// Writes a file that appears under its name complete or not at all: a temporary file in the same folder, flushed to
/// the disk, then renamed over the old one, then the folder flushed. A process killed in between leaves the old file
/// whole.
class AtomicFileWriter {
 public:
  /// IoError if the folder cannot be written to, or if there is something under that name that is no regular file.
  explicit AtomicFileWriter(std::string path);
  /// Removes what was written unless commit() was reached.
  ~AtomicFileWriter();
  AtomicFileWriter(const AtomicFileWriter&) = delete;
  AtomicFileWriter& operator=(const AtomicFileWriter&) = delete;

  /// IoError naming the path and the reason, e.g. a full disk.
  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int error) const;

  std::string path_, temporary_;
  int file_ = -1;
};

/// Keeps other processes that ask for the same out of a folder, until the object or the process ends; a process that
/// dies leaves no lock behind. File systems that cannot lock folders do not lock.
class FolderLock {
 public:
  /// IoError if the folder cannot be opened or another process holds it.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace bough
