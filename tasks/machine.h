#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

/// What this machine is and has.
namespace bough {

/// Processor, cores, threads, version of bough: where the figures of a run come from.
nlohmann::json describe_host();

/// Processor time of this process, all its threads together.
struct ProcessorTime {
  double used_seconds = 0;    ///< computing
  double waited_seconds = 0;  ///< ready to compute while other programs, or too many threads, had the processors

  /// Share of the time that it wanted to compute and could not: near 0 on an idle machine; 0 if it has not computed.
  double waited_share() const;
};
/// Since the process began, as far as its present threads can tell; nothing if the kernel does not count it.
std::optional<ProcessorTime> processor_time();

/// Bytes of memory that the machine has left, or nothing if it does not tell.
std::optional<std::int64_t> available_memory();

}  // namespace bough
