#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bough/graph/ids.h"
#include "graph/io/zip.h"

/// The .npy format (versions 1 to 3) of one array, for integers and short texts.
namespace bough {

struct NpyHeader {
  char kind = 'i';         ///< i and u: integers, S: bytes, U: UTF-32
  std::int64_t width = 0;  ///< bytes of an integer; letters of a text
  std::vector<std::int64_t> shape;
};

/// Arrays of an archive entry. IoError unless the array is of the kind asked for: little-endian integers of any width
/// whose values fit, with at most one axis.
IdArray read_npy_ids(const InputFile& file, const ZipEntry& entry);
std::vector<std::int64_t> read_npy_integers(const InputFile& file, const ZipEntry& entry);
/// An array with one element, of any rank.
std::int64_t read_npy_integer(const InputFile& file, const ZipEntry& entry);
std::string read_npy_text(const InputFile& file, const ZipEntry& entry);

/// The header of version 1 that stands before the elements. descr: "<i4" or "<i8"; size < 0: a scalar.
std::string npy_header(const char* descr, std::int64_t size);

}  // namespace bough
