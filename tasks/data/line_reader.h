#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bough/core/parallel.h"

namespace bough {

/// Lines of a file, plain or gzip, or of a file in a tar archive (see archive_member), one at a time: a file may be
/// larger than memory.
class LineReader {
 public:
  /// IoError naming the path if it cannot be opened, is a folder or is not in its archive.
  explicit LineReader(std::string path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line without its end ("\n" or "\r\n") and, in front of the first, without the mark
  /// that tells UTF-8; false after the last. The view holds until the next call. IoError
  /// for a damaged file and for a line of more than a gigabyte.
  bool next(std::string_view& line);
  /// Of the line that next() gave last, from 1.
  std::int64_t number() const { return number_; }
  /// "FILE, line 12", for messages.
  std::string place() const;

 private:
  bool fill();

  struct File;
  std::string path_;
  std::unique_ptr<File> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< what is read and not given yet
  std::int64_t number_ = 0;
  std::int64_t left_;  ///< bytes of the file that are not read yet, at most; known of files in archives
  bool at_end_ = false;
};

/// Calls `parse` with each line of a file. It throws ConfigError for a malformed one, and has then taken nothing of it:
/// an IoError that names file and line, or, with skip_bad, one more in the number that is returned.
std::int64_t parse_lines(const std::string& path, bool skip_bad, FunctionRef<void(std::string_view)> parse);

}  // namespace bough
