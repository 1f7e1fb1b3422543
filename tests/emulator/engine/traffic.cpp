#include "tests/emulator/engine/traffic.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace bough::emulator {
namespace {

constexpr std::uint64_t sector_bytes = 32, bank_bytes = 4, num_banks = 32;

std::int64_t count_distinct(std::array<std::uint64_t, 32>& values, std::size_t count) {
  std::sort(values.begin(), values.begin() + count);
  return std::unique(values.begin(), values.begin() + count) - values.begin();
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  load_requests += other.load_requests;
  load_sectors += other.load_sectors;
  store_requests += other.store_requests;
  store_sectors += other.store_sectors;
  atomic_requests += other.atomic_requests;
  atomic_sectors += other.atomic_sectors;
  shared_requests += other.shared_requests;
  bank_conflicts += other.bank_conflicts;
  return *this;
}

void TrafficLog::add(Kind kind, int lane, std::uint64_t site, std::uint64_t address, std::uint32_t bytes) {
  accesses_.push_back({kind, static_cast<std::uint8_t>(lane), bytes, 0, site, address});
}

void TrafficLog::flush(Traffic& traffic) {
  if (accesses_.empty()) return;
  number_repetitions();
  std::ranges::sort(accesses_, {}, [](const Access& access) {
    return std::tuple(access.kind, access.site, access.repetition, access.lane);
  });
  const Access* begin = accesses_.data();
  const Access* const end = begin + accesses_.size();
  while (begin != end) {
    const Access* last = begin;
    while (last != end && last->kind == begin->kind && last->site == begin->site &&
           last->repetition == begin->repetition) {
      ++last;
    }
    count(begin, last, traffic);
    begin = last;
  }
  accesses_.clear();
}

void TrafficLog::number_repetitions() {
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    Access& access = accesses_[i];
    if (i == 0 || access.lane != accesses_[i - 1].lane) visits_.clear();
    const auto same = [&](const Visits& visits) { return visits.site == access.site && visits.kind == access.kind; };
    auto found = std::ranges::find_if(visits_, same);
    if (found == visits_.end()) found = visits_.insert(visits_.end(), {access.site, access.kind, 0});
    access.repetition = found->count++;
  }
}

/// One request: at most one access of each lane.
void TrafficLog::count(const Access* begin, const Access* end, Traffic& traffic) {
  std::array<std::uint64_t, 32> units{};
  const auto lanes = static_cast<std::size_t>(end - begin);
  if (begin->kind != Kind::shared) {
    for (std::size_t i = 0; i < lanes; ++i) units[i] = begin[i].address / sector_bytes;
    const std::int64_t sectors = count_distinct(units, lanes);
    const auto add = [&](std::int64_t& requests, std::int64_t& total) {
      requests += 1;
      total += sectors;
    };
    if (begin->kind == Kind::load) return add(traffic.load_requests, traffic.load_sectors);
    if (begin->kind == Kind::store) return add(traffic.store_requests, traffic.store_sectors);
    return add(traffic.atomic_requests, traffic.atomic_sectors);
  }
  // Accesses of 8 and 16 bytes are served for half and a quarter of the lanes at a time. Lanes that want the same
  // element share it; different elements in the same banks wait for each other.
  traffic.shared_requests += 1;
  const std::uint64_t banks = std::max<std::uint64_t>(1, begin->bytes / bank_bytes);
  const std::size_t lanes_at_once = 32 / static_cast<std::size_t>(banks);
  for (std::size_t part = 0; part < 32; part += lanes_at_once) {
    std::size_t members = 0;
    for (std::size_t i = 0; i < lanes; ++i) {
      if (begin[i].lane / lanes_at_once == part / lanes_at_once)
        units[members++] = begin[i].address / (bank_bytes * banks);
    }
    const std::int64_t distinct = count_distinct(units, members);
    std::array<std::int64_t, num_banks> passes{};
    for (std::int64_t i = 0; i < distinct; ++i) ++passes[units[static_cast<std::size_t>(i)] % (num_banks / banks)];
    traffic.bank_conflicts += std::max<std::int64_t>(0, std::ranges::max(passes) - 1);
  }
}

}  // namespace bough::emulator
