#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/ids.h"
#include "graph/io/zip.h"

/// The .npy format (versions 1 to 3) of one array: numbers and short texts.
namespace bough {

struct NpyHeader {
  std::string descr;       ///< the type as it stands in the file: byte order, kind, width
  char kind = 'i';         ///< i and u: integers, f: floats, b: truth values, S: bytes, U: UTF-32, others are not read
  std::int64_t width = 0;  ///< bytes of a number; letters of a text
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Arrays of an archive entry. IoError unless the array is of the kind asked for: little-endian integers of any width
/// whose values fit, with at most one axis.
IdArray read_npy_ids(const InputFile& file, const ZipEntry& entry);
std::vector<std::int64_t> read_npy_integers(const InputFile& file, const ZipEntry& entry);
/// An array with one element, of any rank.
std::int64_t read_npy_integer(const InputFile& file, const ZipEntry& entry);
std::string read_npy_text(const InputFile& file, const ZipEntry& entry);
/// Numbers of any rank that tensors have. Types are kept; integers that tensors lack are widened, up to 16 bits to
/// int32 and uint32 to int64. IoError for other types, big-endian numbers and several axes in Fortran order.
Tensor read_npy_tensor(const InputFile& file, const ZipEntry& entry);

/// The header of version 1 that stands before the elements. descr: such as "<i4".
std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace bough
