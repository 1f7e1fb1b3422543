#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

/// What this machine is and has, and how busy it is.
namespace bough {

/// The commit that was built, "3f2a91c0b7de", with "+changes" if tracked files differed from it; "unknown" where the
/// sources had no history.
extern const std::string_view build_commit;

/// Name and version of the libraries that bough uses, those that are loaded where they are shared:
/// {"oneTBB": "2021.8.0", ...}. SentencePiece, CUDA and cuBLAS are there in builds that have them.
nlohmann::json library_versions();

/// Processor, cores, threads, version and commit of bough, compiler and libraries: where the figures of a run come
/// from.
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

/// Processor time of the whole machine.
struct MachineTime {
  double all_seconds = 0;    ///< that its processors had, idle or not
  double other_seconds = 0;  ///< used by other programs, or by other machines on the same hardware

  /// 0 on a machine that has nothing else to do, 1 if all processors were taken.
  double other_share() const;
};
/// Since the machine was started; nothing if the kernel does not tell. A difference of two is what happened in between:
/// `own` is the process that does not count as another program, with all that it has started. Programs that it has not
/// waited for when they ended count as others.
std::optional<MachineTime> machine_time(pid_t own);

/// Bytes of memory that the machine has left, or nothing if it does not tell.
std::optional<std::int64_t> available_memory();

}  // namespace bough
