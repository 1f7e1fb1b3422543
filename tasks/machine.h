#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

/// What this machine is and has.
namespace bough {

/// Processor, cores, threads, version of bough: where the figures of a run come from.
nlohmann::json describe_host();

/// Bytes of memory that the machine has left, or nothing if it does not tell.
std::optional<std::int64_t> available_memory();

}  // namespace bough
