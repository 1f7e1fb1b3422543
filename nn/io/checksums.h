#pragma once

#include <string>

#include "bough/nn/checkpoint.h"

namespace bough::nn {

/// CRC-32 of each tensor (type, shape, bytes) and of all metadata, as one line of JSON. The order of the tensors plays
/// no part, so a program that reads the file and writes it anew keeps them valid. Every single flipped bit shows.
std::string checksums_of(const TensorFile& file);

/// IoError that names what has changed if `expected`, as checksums_of made it, is not that of the file.
void require_checksums(const std::string& path, const TensorFile& file, const std::string& expected);

}  // namespace bough::nn
