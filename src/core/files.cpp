#include "src/core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "bough/core/errors.h"

namespace bough {
namespace {

/// Closes a file descriptor at the end of a scope.
struct OpenFile {
  int descriptor;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string read_file(const std::string& path, std::int64_t limit) {
  const auto fail = [&path](int error) {
    throw IoError("read", fmt::format("'{}' cannot be read: {}", path, std::strerror(error)));
  };
  // Without O_NONBLOCK opening a named pipe would wait for a writer.
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) fail(errno);
  struct stat info {};
  if (::fstat(file.descriptor, &info) != 0) fail(errno);
  if (!S_ISREG(info.st_mode)) throw IoError("read", fmt::format("'{}' is not a regular file", path));
  if (info.st_size > limit) {
    throw IoError("read", fmt::format("'{}' has {} bytes, at most {} are allowed here", path, info.st_size, limit));
  }
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(file.descriptor, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

AtomicFileWriter::AtomicFileWriter(std::string path) : path_(std::move(path)) {
  // Renaming over /dev/null, say, would replace the device for the whole system.
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    throw IoError("write", fmt::format("'{}' exists and is not a regular file", path_));
  }
  // Names another process or an earlier, killed one has left behind are passed over.
  for (int attempt = 0; file_ < 0 && attempt < 1000; ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), attempt);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) fail("created", errno);
}

AtomicFileWriter::~AtomicFileWriter() {
  if (file_ >= 0) {
    ::close(file_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFileWriter::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t wrote = ::write(file_, from, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("written", errno);
    from += wrote;
    bytes -= static_cast<std::size_t>(wrote);
  }
}

void AtomicFileWriter::commit() {
  if (::fsync(file_) != 0) fail("flushed to the disk", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("renamed into place", errno);
  ::close(file_);
  file_ = -1;
  const OpenFile folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.descriptor < 0 || ::fsync(folder.descriptor) != 0) fail("made durable in its folder", errno);
}

void AtomicFileWriter::fail(const char* action, int error) const {
  throw IoError("write", fmt::format("'{}' could not be {}: {}", path_, action, std::strerror(error)));
}

FolderLock::FolderLock(const std::string& folder) : file_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (file_ < 0) throw IoError("lock", fmt::format("'{}' cannot be opened: {}", folder, std::strerror(errno)));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(file_);
    throw IoError(
        "lock", fmt::format("another process is writing into '{}'; wait for its end or choose another folder", folder));
  }
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace bough
