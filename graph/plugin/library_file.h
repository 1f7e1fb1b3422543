#pragma once

#include <filesystem>
#include <string>

namespace bough {

/// What keeps a file from being loaded as a shared library, in words that follow "the library ...": "is empty", "is cut
/// short: ...". Empty if nothing does as far as its headers tell. The system maps a library into memory without looking
/// at its size, so that half a file would end the process when its missing part is touched.
std::string library_file_problem(const std::filesystem::path& path);

/// dlerror's text in plain words, with the names of C++ symbols readable.
std::string explain_load_error(const std::string& text);

}  // namespace bough
