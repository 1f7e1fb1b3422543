#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace bough {

/// CRC-32 as in zip and PNG; `so_far` continues an earlier one.
inline std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t so_far = 0) {
  if (bytes == 0) return so_far;  // zlib takes a null pointer for a request to start anew
  return static_cast<std::uint32_t>(::crc32_z(so_far, static_cast<const Bytef*>(data), bytes));
}

}  // namespace bough
