#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tasks/data/line_reader.h"

namespace bough::cli {

/// Lines of a file, plain or gzip, or of stdin as they come.
class TextLines {
 public:
  /// stdin for an empty path or "-". IoError for a file that cannot be read.
  explicit TextLines(const std::string& path);

  /// The next line without its end; false after the last. Waits for a program that writes to stdin. IoError for a
  /// damaged file, and for stdin that is compressed.
  bool next(std::string& line);
  /// Whether next() would answer without waiting.
  bool is_ready();
  /// Of the line that next() gave last: "FILE, line 12".
  std::string place() const;

 private:
  bool has_line() const { return buffer_.find('\n', begin_) != std::string::npos; }
  /// Adds to the buffer what is there, or waits for something.
  void read_more();

  std::unique_ptr<LineReader> file_;  ///< null for stdin
  std::string buffer_;                ///< of stdin: what is read; given up to begin_
  std::size_t begin_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace bough::cli
