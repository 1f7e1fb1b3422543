#include "graph/plugin/library_file.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

namespace bough {
namespace {

/// Reads `count` values of a plain type at an offset; false if the file ends before.
template <typename T>
bool read_at(std::ifstream& file, std::uint64_t offset, T* values, std::size_t count) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  return offset + std::min(bytes, std::numeric_limits<std::uint64_t>::max() - offset);
}

/// Where the last part that the system maps into memory ends, or 0 if the headers are of another kind of machine, which
/// the system notices by itself.
std::uint64_t mapped_end(std::ifstream& file) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, 1)) return sizeof(header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return 0;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return 0;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::uint64_t end = end_of(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  if (!read_at(file, header.e_phoff, segments.data(), segments.size())) return end;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  return end;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && name != nullptr ? name.get() : symbol;
}

}  // namespace

std::string library_file_problem(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return fmt::format("cannot be read: {}", error.message());
  if (size == 0) return "is empty";
  std::ifstream file(path, std::ios::binary);
  if (!file) return "cannot be opened for reading";
  char magic[SELFMAG] = {};
  file.read(magic, SELFMAG);
  if (std::memcmp(magic, ELFMAG, SELFMAG) != 0) return "is no shared library";
  const std::uint64_t end = mapped_end(file);
  if (end <= size) return "";
  return fmt::format("is cut short: it has {} bytes, but needs at least {}; was it copied completely?", size, end);
}

std::string explain_load_error(const std::string& text) {
  constexpr std::string_view undefined = "undefined symbol: ";
  const std::size_t found = text.find(undefined);
  if (found == std::string::npos) return fmt::format("cannot be loaded: {}", text);
  std::string symbol = text.substr(found + undefined.size());
  symbol = demangled(symbol.substr(0, symbol.find_first_of(", \t\n")));
  const bool of_bough = symbol.find("bough::") != std::string::npos;
  return fmt::format("cannot be loaded: it needs {}, which nothing defines; {}", symbol,
                     of_bough ? "it was built against another version of bough, build it anew"
                              : "link the object or library that does");
}

}  // namespace bough
