#include "tests/emulator/engine/memory_rules.h"

#include <cstring>

#include "tests/emulator/engine/site.h"

namespace bough::emulator {
namespace {

/// Calls f with a number for each word of 4 bytes. Accesses of less have numbers of their own: neighbouring bytes may
/// be written by different threads.
template <typename F>
void for_each_word(const void* address, std::size_t bytes, const F& f) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  if (bytes < 4) return f(first * 2 + 1);
  for (std::size_t i = 0; i < bytes; i += 4) f((first + i) * 2);
}

/// KernelFault for an access that is not in order with an earlier one.
[[noreturn]] void refuse(const char* does, const Moment& now, const std::source_location& site, const History& history,
                         const History::Access& other) {
  const char* did = other.atomic ? "adds to" : &other == &history.last_write() ? "writes" : "reads";
  throw KernelFault(site_name(site), fmt::format("thread {} of block {} {} global memory that thread {} of block {} {} "
                                                 "at {} in the same launch",
                                                 now.thread, now.block, does, other.moment.thread, other.moment.block,
                                                 did, site_name(other.site)));
}

}  // namespace

const History::Access* History::read(const Moment& now, const std::source_location& site) {
  if (write_.happened() && (write_.atomic || !now.sees(write_.moment))) return &write_;
  const Moment& last = read_.moment;
  several_blocks_ = several_blocks_ || (read_.happened() && last.block != now.block);
  const bool behind_warp_sync = !several_warps_ && last.warp() == now.warp() && last.warp_syncs < now.warp_syncs;
  if (!read_.happened() || last.block_syncs < now.block_syncs || behind_warp_sync) {
    several_warps_ = several_threads_ = false;
  } else {
    several_warps_ = several_warps_ || last.warp() != now.warp();
    several_threads_ = several_threads_ || last.thread != now.thread;
  }
  read_ = {now, site};
  return nullptr;
}

const History::Access* History::write(const Moment& now, const std::source_location& site) {
  if (write_.happened() && (write_.atomic || !now.sees(write_.moment))) return &write_;
  if (read_.happened()) {
    const Moment& last = read_.moment;
    if (several_blocks_ || last.block != now.block) return &read_;
    if (last.block_syncs == now.block_syncs) {
      const bool ordered_in_warp = last.warp() == now.warp() && last.warp_syncs < now.warp_syncs;
      const bool own = last.thread == now.thread && !several_threads_;
      if (several_warps_ || !(own || ordered_in_warp)) return &read_;
    }
  }
  write_ = {now, site};
  return nullptr;
}

const History::Access* History::add(const Moment& now, const std::source_location& site) {
  if (write_.happened() && !write_.atomic) return &write_;
  if (read_.happened()) return &read_;
  write_ = {now, site, true};
  return nullptr;
}

SharedMemory::SharedMemory(std::size_t offset, std::size_t element_bytes, std::int64_t count)
    : offset_(offset),
      element_bytes_(element_bytes),
      elements_(static_cast<std::size_t>(count)),
      values_(static_cast<std::size_t>(count) * element_bytes) {}

History& SharedMemory::at(std::int64_t index, const Moment& now, const std::source_location& site) {
  if (index < 0 || index >= count()) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} uses element {} of a shared array of {}", now.thread, index, count()));
  }
  return elements_[static_cast<std::size_t>(index)];
}

void SharedMemory::read(std::int64_t index, const Moment& now, const std::source_location& site, std::byte* value) {
  History& element = at(index, now, site);
  if (!element.last_write().happened()) {
    throw KernelFault(site_name(site), fmt::format("thread {} reads element {} of a shared array that no thread has "
                                                   "written",
                                                   now.thread, index));
  }
  if (const History::Access* other = element.read(now, site)) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} reads element {} of a shared array without a barrier after thread {} "
                                  "wrote it at {}",
                                  now.thread, index, other->moment.thread, site_name(other->site)));
  }
  std::memcpy(value, values_.data() + static_cast<std::size_t>(index) * element_bytes_, element_bytes_);
}

void SharedMemory::write(std::int64_t index, const Moment& now, const std::source_location& site,
                         const std::byte* value) {
  History& element = at(index, now, site);
  if (const History::Access* other = element.write(now, site)) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} writes element {} of a shared array without a barrier after thread {} "
                                  "{} it at {}",
                                  now.thread, index, other->moment.thread,
                                  other == &element.last_write() ? "wrote" : "read", site_name(other->site)));
  }
  std::memcpy(values_.data() + static_cast<std::size_t>(index) * element_bytes_, value, element_bytes_);
}

void GlobalAccesses::read(const void* address, std::size_t bytes, const Moment& now, const std::source_location& site,
                          bool remember) {
  if (words_.empty() && !remember) return;
  for_each_word(address, bytes, [&](std::uintptr_t word) {
    const auto found = remember ? words_.try_emplace(word).first : words_.find(word);
    if (found == words_.end()) return;
    History& history = found->second;
    if (const History::Access* other = history.read(now, site)) refuse("reads", now, site, history, *other);
  });
}

void GlobalAccesses::write(const void* address, std::size_t bytes, const Moment& now,
                           const std::source_location& site) {
  for_each_word(address, bytes, [&](std::uintptr_t word) {
    History& history = words_[word];
    if (const History::Access* other = history.write(now, site)) refuse("writes", now, site, history, *other);
  });
}

void GlobalAccesses::add(const void* address, std::size_t bytes, const Moment& now, const std::source_location& site) {
  for_each_word(address, bytes, [&](std::uintptr_t word) {
    History& history = words_[word];
    if (const History::Access* other = history.add(now, site)) refuse("adds to", now, site, history, *other);
  });
}

}  // namespace bough::emulator
