#pragma once

#include <string>
#include <vector>

namespace bough::cli {

/// A file that a command writes, and the option that names it.
struct OutputFile {
  std::string option;  ///< "--html"
  std::string path;    ///< empty: it was not asked for
};

/// ConfigError naming the option if a file that is written is also read, under this name or another, or is written
/// twice: the later one would replace the former without a word. Empty paths and "-" are no files. To be called before
/// anything is computed.
void require_separate_files(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

/// ConfigError if the folder for results is a file, IoError if it cannot be written to or made. Nothing is made.
void require_folder_for_results(const std::string& folder);

/// Makes the folder unless it is there. IoError naming it if that cannot be.
void make_folder_for_results(const std::string& folder);

}  // namespace bough::cli
