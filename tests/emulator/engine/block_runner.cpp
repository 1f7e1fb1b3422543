#include "tests/emulator/engine/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/emulator/engine/site.h"

namespace bough::emulator {
namespace {

/// Ends the threads of a block that cannot go on.
struct Abandoned {};

}  // namespace

BlockRunner::BlockRunner(const simt::Launch& launch, Order order, std::vector<std::unique_ptr<Fiber>>& fibers,
                         Counting counting, const MemoryMap* memory)
    : launch_(launch), order_(order), counting_(counting), memory_(memory), fibers_(fibers) {
  if (launch.block_size < 1 || launch.block_size > 1024 || launch.block_size % simt::warp_size != 0) {
    fail(fmt::format("a block has a multiple of 32 threads up to 1024, not {}", launch.block_size));
  }
  if (launch.num_blocks < 0 || launch.num_blocks > 0x7FFFFFFF) {
    fail(fmt::format("a launch has 0 to 2^31-1 blocks, not {}", launch.num_blocks));
  }
  if (launch.shared_bytes > simt::most_shared_bytes) {
    fail(fmt::format("a block has {} bytes of shared memory, not {}", simt::most_shared_bytes, launch.shared_bytes));
  }
  const auto count = static_cast<std::size_t>(launch.num_blocks == 0 ? 0 : launch.block_size);
  threads_.resize(count);
  slots_.resize(count);
  while (fibers_.size() < count) fibers_.push_back(std::make_unique<Fiber>());
}

void BlockRunner::run(FunctionRef<void(BlockRunner&, int)> body) {
  for (std::int64_t i = 0; i < launch_.num_blocks; ++i) {
    block_ = order_ == Order::ascending ? i : launch_.num_blocks - 1 - i;
    run_block(body);
  }
}

void BlockRunner::run_block(FunctionRef<void(BlockRunner&, int)> body) {
  shared_.clear();
  const auto run_thread = [&](int thread) {
    try {
      if (!abandoned_) body(*this, thread);
    } catch (const Abandoned&) {
    } catch (...) {
      failure_ = std::current_exception();
    }
    threads_[static_cast<std::size_t>(thread)].state = State::finished;
  };
  struct Entry {
    const decltype(run_thread)* run;
    int thread;
    void operator()() const { (*run)(thread); }
  };
  std::vector<Entry> entries;
  for (int thread = 0; thread < launch_.block_size; ++thread) entries.push_back({&run_thread, thread});
  for (int thread = 0; thread < launch_.block_size; ++thread) {
    const auto t = static_cast<std::size_t>(thread);
    threads_[t] = {};
    threads_[t].moment.thread = thread;
    threads_[t].moment.block = block_;
    fibers_[t]->set(entries[t]);
  }
  try {
    const int warps = launch_.block_size / simt::warp_size;
    do {
      for (int i = 0; i < warps; ++i) run_warp(in_order(i, warps));
    } while (release_block());
  } catch (...) {
    abandon_threads();
    throw;
  }
}

/// Until all its lanes wait for the block or have returned.
void BlockRunner::run_warp(int warp) {
  do {
    for (int i = 0; i < simt::warp_size; ++i) {
      const int thread = warp * simt::warp_size + in_order(i, simt::warp_size);
      if (threads_[static_cast<std::size_t>(thread)].state == State::running) resume(thread);
    }
    log_.flush(traffic_);
  } while (release_warp(warp));
}

void BlockRunner::resume(int thread) {
  fibers_[static_cast<std::size_t>(thread)]->resume();
  if (failure_ == nullptr) return;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  try {
    std::rethrow_exception(failure);
  } catch (const KernelFault& fault) {
    fail(fault.what());
  }
}

bool BlockRunner::release_warp(int warp) {
  const auto first = static_cast<std::size_t>(warp) * simt::warp_size;
  const auto lanes = std::span(threads_).subspan(first, simt::warp_size);
  const auto waiting = std::ranges::find(lanes, State::in_warp, &Thread::state);
  if (waiting == lanes.end()) return false;
  for (const Thread& lane : lanes) {
    if (lane.state == State::in_warp && site_number(lane.site) == site_number(waiting->site)) continue;
    fail(fmt::format("the lanes of a warp part before a {}: {}, but {}", waiting->collective,
                     describe(waiting->moment.thread), describe(lane.moment.thread)));
  }
  for (Thread& lane : lanes) lane.state = State::running;
  return true;
}

/// False when all have returned.
bool BlockRunner::release_block() {
  const Thread& first = threads_.front();
  for (const Thread& thread : threads_) {
    const bool same_place = first.state == State::finished || site_number(thread.site) == site_number(first.site);
    if (thread.state == first.state && same_place) continue;
    fail(fmt::format("the threads of a block part before a barrier: {}, but {}", describe(first.moment.thread),
                     describe(thread.moment.thread)));
  }
  if (first.state == State::finished) return false;
  for (Thread& thread : threads_) {
    thread.state = State::running;
    ++thread.moment.block_syncs;
  }
  return true;
}

void BlockRunner::abandon_threads() {
  abandoned_ = true;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state != State::finished) fibers_[i]->resume();
  }
}

void BlockRunner::wait(int thread, State state, const char* collective, const std::source_location& site) {
  Thread& own = threads_[static_cast<std::size_t>(thread)];
  own.state = state;
  own.collective = collective;
  own.site = site;
  fibers_[static_cast<std::size_t>(thread)]->pause();
  if (abandoned_) throw Abandoned{};
}

void BlockRunner::sync(int thread, const std::source_location& site) { wait(thread, State::in_block, "sync", site); }

void BlockRunner::sync_warp(int thread, const std::source_location& site) {
  wait(thread, State::in_warp, "sync_warp", site);
  ++threads_[static_cast<std::size_t>(thread)].moment.warp_syncs;
}

void BlockRunner::give(int thread, const Slot& value, const char* collective, const std::source_location& site) {
  const auto t = static_cast<std::size_t>(thread);
  slots_[t][static_cast<std::size_t>(++threads_[t].exchanges % 2)] = value;
  wait(thread, State::in_warp, collective, site);
}

const BlockRunner::Slot& BlockRunner::given(int thread, int from_lane) const {
  const std::int64_t exchanges = threads_[static_cast<std::size_t>(thread)].exchanges;
  const int from = thread / simt::warp_size * simt::warp_size + from_lane;
  return slots_[static_cast<std::size_t>(from)][static_cast<std::size_t>(exchanges % 2)];
}

void BlockRunner::count(TrafficLog::Kind kind, int thread, const std::source_location& site, std::uintptr_t address,
                        std::size_t bytes) {
  if (counting_ == Counting::off) return;
  log_.add(kind, thread % simt::warp_size, site_number(site), address, static_cast<std::uint32_t>(bytes));
}

void BlockRunner::check_place(int thread, const char* does, const void* address, std::size_t bytes,
                              const std::source_location& site) const {
  if (memory_ == nullptr || memory_->contains(address, bytes)) return;
  throw KernelFault(site_name(site), fmt::format("thread {} of block {} {} {} bytes outside all memory there is",
                                                 thread, block_, does, bytes));
}

void BlockRunner::load(int thread, const void* address, std::size_t bytes, const std::source_location& site) {
  check_place(thread, "reads", address, bytes, site);
  global_.read(address, bytes, threads_[static_cast<std::size_t>(thread)].moment, site, counting_ == Counting::on);
  count(TrafficLog::Kind::load, thread, site, reinterpret_cast<std::uintptr_t>(address), bytes);
}

void BlockRunner::store(int thread, const void* address, std::size_t bytes, const std::source_location& site) {
  check_place(thread, "writes", address, bytes, site);
  global_.write(address, bytes, threads_[static_cast<std::size_t>(thread)].moment, site);
  count(TrafficLog::Kind::store, thread, site, reinterpret_cast<std::uintptr_t>(address), bytes);
}

void BlockRunner::atomic_add(int thread, const void* address, std::size_t bytes, const std::source_location& site) {
  check_place(thread, "adds to", address, bytes, site);
  global_.add(address, bytes, threads_[static_cast<std::size_t>(thread)].moment, site);
  count(TrafficLog::Kind::atomic, thread, site, reinterpret_cast<std::uintptr_t>(address), bytes);
}

SharedMemory& BlockRunner::shared(int thread, std::size_t offset, std::size_t element_bytes, std::int64_t count,
                                  const std::source_location& site) {
  const auto known = std::ranges::find_if(shared_, [&](const auto& array) { return array->offset() == offset; });
  if (known != shared_.end()) {
    if ((*known)->element_bytes() == element_bytes && (*known)->count() == count) return **known;
    throw KernelFault(site_name(site),
                      fmt::format("thread {} asks for {} elements of {} bytes of shared memory where others asked for "
                                  "{} of {}",
                                  thread, count, element_bytes, (*known)->count(), (*known)->element_bytes()));
  }
  if (count < 1 || offset + static_cast<std::size_t>(count) * element_bytes > launch_.shared_bytes) {
    throw KernelFault(site_name(site), fmt::format("{} elements of {} bytes at offset {} do not fit the {} "
                                                   "bytes of shared memory of the launch",
                                                   count, element_bytes, offset, launch_.shared_bytes));
  }
  return *shared_.emplace_back(std::make_unique<SharedMemory>(offset, element_bytes, count));
}

void BlockRunner::shared_read(SharedMemory& memory, int thread, std::int64_t index, const std::source_location& site,
                              std::byte* value) {
  memory.read(index, threads_[static_cast<std::size_t>(thread)].moment, site, value);
  count(TrafficLog::Kind::shared, thread, site,
        memory.offset() + static_cast<std::size_t>(index) * memory.element_bytes(), memory.element_bytes());
}

void BlockRunner::shared_write(SharedMemory& memory, int thread, std::int64_t index, const std::source_location& site,
                               const std::byte* value) {
  memory.write(index, threads_[static_cast<std::size_t>(thread)].moment, site, value);
  count(TrafficLog::Kind::shared, thread, site,
        memory.offset() + static_cast<std::size_t>(index) * memory.element_bytes(), memory.element_bytes());
}

std::string BlockRunner::describe(int thread) const {
  const Thread& about = threads_[static_cast<std::size_t>(thread)];
  if (about.state == State::finished) return fmt::format("thread {} has returned", thread);
  return fmt::format("thread {} waits in the {} at {}", thread, about.collective, site_name(about.site));
}

void BlockRunner::fail(const std::string& message) const {
  throw KernelFault(launch_.name, fmt::format("block {} of {} x {} threads: {}", block_, launch_.num_blocks,
                                              launch_.block_size, message));
}

}  // namespace bough::emulator
