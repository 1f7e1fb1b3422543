#pragma once

#include <cstdint>
#include <vector>

namespace bough::emulator {

/// Memory traffic of a launch as the hardware counts it. A request is one load or store that a warp executes together.
struct Traffic {
  std::int64_t load_requests = 0, load_sectors = 0;      ///< of 32 bytes in global memory
  std::int64_t store_requests = 0, store_sectors = 0;    ///< the same
  std::int64_t atomic_requests = 0, atomic_sectors = 0;  ///< the same; each is a read and a write in the cache
  std::int64_t shared_requests = 0;
  std::int64_t bank_conflicts = 0;  ///< passes over shared memory beyond those that the width of the access needs

  Traffic& operator+=(const Traffic& other);
};

/// Collects what the lanes of a warp do one after the other between two points where they meet, and puts together what
/// on the hardware is one request: the k-th execution of the same place in the source by each of them.
class TrafficLog {
 public:
  enum class Kind : std::uint8_t { load, store, atomic, shared };

  void add(Kind kind, int lane, std::uint64_t site, std::uint64_t address, std::uint32_t bytes);
  /// Counts all that was added and forgets it.
  void flush(Traffic& traffic);

 private:
  struct Access {
    Kind kind;
    std::uint8_t lane;
    std::uint32_t bytes;
    std::uint32_t repetition;  ///< how often the lane had been at this place before
    std::uint64_t site;
    std::uint64_t address;
  };
  struct Visits {
    std::uint64_t site;
    Kind kind;
    std::uint32_t count;
  };

  void number_repetitions();
  static void count(const Access* begin, const Access* end, Traffic& traffic);

  std::vector<Access> accesses_;  ///< those of a lane are in order
  std::vector<Visits> visits_;
};

}  // namespace bough::emulator
