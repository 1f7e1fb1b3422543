#include "kernels/emulator/memory_rules.h"

#include <cstring>

#include "kernels/emulator/site.h"

namespace bough::emulator {

SharedMemory::SharedMemory(std::size_t offset, std::size_t element_bytes, std::int64_t count)
    : offset_(offset),
      element_bytes_(element_bytes),
      elements_(static_cast<std::size_t>(count)),
      values_(static_cast<std::size_t>(count) * element_bytes) {}

SharedMemory::Element& SharedMemory::at(std::int64_t index, const Moment& now, const std::source_location& site) {
  if (index < 0 || index >= count()) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} uses element {} of a shared array of {}", now.thread, index, count()));
  }
  return elements_[static_cast<std::size_t>(index)];
}

void SharedMemory::read(std::int64_t index, const Moment& now, const std::source_location& site, std::byte* value) {
  Element& element = at(index, now, site);
  if (element.written.thread < 0) {
    throw KernelFault(site_name(site), fmt::format("thread {} reads element {} of a shared array that nobody has "
                                                   "written",
                                                   now.thread, index));
  }
  if (!now.sees(element.written)) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} reads element {} of a shared array without a barrier after thread {} "
                                  "wrote it at {}",
                                  now.thread, index, element.written.thread, site_name(element.writer)));
  }
  const bool behind_warp_sync =
      !element.several_warps && element.read.warp() == now.warp() && element.read.warp_syncs < now.warp_syncs;
  if (element.read.thread < 0 || element.read.block_syncs < now.block_syncs || behind_warp_sync) {
    element.several_warps = element.several_threads = false;
  } else {
    element.several_warps = element.several_warps || element.read.warp() != now.warp();
    element.several_threads = element.several_threads || element.read.thread != now.thread;
  }
  element.read = now;
  element.reader = site;
  std::memcpy(value, values_.data() + static_cast<std::size_t>(index) * element_bytes_, element_bytes_);
}

void SharedMemory::write(std::int64_t index, const Moment& now, const std::source_location& site,
                         const std::byte* value) {
  Element& element = at(index, now, site);
  const auto fail = [&](const char* what, const Moment& other, const std::source_location& other_site) {
    throw KernelFault(site_name(site),
                      fmt::format("thread {} writes element {} of a shared array without a barrier after thread {} "
                                  "{} it at {}",
                                  now.thread, index, other.thread, what, site_name(other_site)));
  };
  if (element.written.thread >= 0 && !now.sees(element.written)) fail("wrote", element.written, element.writer);
  if (element.read.thread >= 0 && element.read.block_syncs == now.block_syncs) {
    const bool ordered_in_warp = element.read.warp() == now.warp() && element.read.warp_syncs < now.warp_syncs;
    const bool own = element.read.thread == now.thread && !element.several_threads;
    if (element.several_warps || !(own || ordered_in_warp)) fail("read", element.read, element.reader);
  }
  element.written = now;
  element.writer = site;
  std::memcpy(values_.data() + static_cast<std::size_t>(index) * element_bytes_, value, element_bytes_);
}

void GlobalWrites::refuse(const char* access, const Write& before, std::int64_t block, const Moment& now,
                          const std::source_location& site) {
  throw KernelFault(
      site_name(site),
      fmt::format("thread {} of block {} {} global memory that thread {} of block {} {} at {} in the same "
                  "launch",
                  now.thread, block, access, before.moment.thread, before.block, before.atomic ? "adds to" : "writes",
                  site_name(before.site)));
}

void GlobalWrites::read(const void* address, std::int64_t block, const Moment& now, const std::source_location& site) {
  if (writes_.empty()) return;
  const auto found = writes_.find(address);
  if (found == writes_.end()) return;
  const Write& write = found->second;
  if (write.atomic || write.block != block || !now.sees(write.moment)) refuse("reads", write, block, now, site);
}

void GlobalWrites::write(const void* address, std::int64_t block, const Moment& now, const std::source_location& site) {
  const auto [found, fresh] = writes_.try_emplace(address, Write{block, now, site});
  if (fresh) return;
  const Write& write = found->second;
  if (write.atomic || write.block != block || !now.sees(write.moment)) refuse("writes", write, block, now, site);
  found->second = {block, now, site};
}

void GlobalWrites::add(const void* address, std::int64_t block, const Moment& now, const std::source_location& site) {
  const auto [found, fresh] = writes_.try_emplace(address, Write{block, now, site, true});
  if (!fresh && !found->second.atomic) refuse("adds to", found->second, block, now, site);
}

}  // namespace bough::emulator
