#include "src/core/allocator.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace {

constexpr std::size_t alignment = 64;
/// Blocks from this size on, all of them whole large pages, ask for such: rows far apart then seldom miss the machine's
/// table of pages, and the first touch of fresh memory costs less.
constexpr std::size_t large_block = std::size_t{8} << 20, large_page = std::size_t{2} << 20;
constexpr int max_tags = 256;
constexpr const char* untagged = "untagged";

/// Tag names of the process; a tag is its index. Tag 0 is "untagged", the last one collects what does not fit.
class TagNames {
 public:
  int index_of(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<int>(found - names_.begin());
    if (names_.size() == max_tags - 1) names_.push_back("other");
    if (names_.size() >= max_tags) return max_tags - 1;
    names_.push_back(name);
    return static_cast<int>(names_.size()) - 1;
  }
  std::string name_of(int tag) const {
    const std::scoped_lock lock(mutex_);
    return names_[tag];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_{untagged};
};

TagNames& tag_names() {
  static TagNames& names = *new TagNames;  // never destroyed: tensors with static lifetime may outlive it otherwise
  return names;
}

int& current_tag() {
  thread_local int tag = 0;
  return tag;
}

/// Four size classes a power of two: less than 25% waste, and shapes that differ a little share blocks.
std::size_t size_class(std::size_t bytes) {
  const std::size_t wanted = std::max(bytes, alignment);
  const std::size_t step = std::max(alignment, std::bit_floor(wanted - 1) / 4);
  return (wanted + step - 1) / step * step;
}

bool pool_wanted() {
  const char* text = std::getenv("BOUGH_MEMORY_POOL");
  if (text == nullptr || std::string_view(text) == "on") return true;
  if (std::string_view(text) == "off") return false;
  throw ConfigError("BOUGH_MEMORY_POOL", fmt::format("must be on or off, not '{}'", text));
}

}  // namespace

void PooledAllocator::Usage::add(std::int64_t bytes) {
  now += bytes;
  peak = std::max(peak, now);
}

PooledAllocator::PooledAllocator(Device device) : device_(device), pooled_(pool_wanted()) {
  if (device.kind == Device::Kind::cuda) cuda_keep_memory(device.index);
}

PooledAllocator::~PooledAllocator() { release_cache(); }

PooledAllocator::Block PooledAllocator::allocate(std::size_t bytes, From from) {
  const std::scoped_lock lock(mutex_);
  if (bytes > std::size_t{1} << 62) fail(bytes, "no machine has that much");
  const std::size_t size = pooled_ ? size_class(bytes) : std::max<std::size_t>(bytes, 1);
  const int tag = current_tag();
  if (limit_ > 0 && total_.now + static_cast<std::int64_t>(size) > limit_) {
    fail(bytes, fmt::format("the limit is {} bytes", limit_).c_str());
  }
  if (tag >= static_cast<int>(by_tag_.size())) by_tag_.resize(tag + 1);

  void* address = nullptr;
  const bool from_capture = from == From::anywhere && capture_thread_ == std::this_thread::get_id();
  CapturePool* pool = from_capture ? capture_pool_ : nullptr;
  auto& cache = pool != nullptr ? pool->cache_ : cache_;
  const auto cached = cache.find(size);
  if (cached != cache.end() && !cached->second.empty()) {
    address = cached->second.back();
    cached->second.pop_back();
    cached_ -= static_cast<std::int64_t>(size);
  } else {
    address = from_system(size);
    if (address == nullptr) {
      release_cache_locked();
      address = from_system(size);
    }
    if (address == nullptr) fail(bytes, "the system has no more memory");
    ++system_allocations_;
  }
  if (pool != nullptr) capture_blocks_[address] = pool;
  total_.add(static_cast<std::int64_t>(size));
  by_tag_[tag].add(static_cast<std::int64_t>(size));
  return {address, size, tag};
}

void PooledAllocator::free(const Block& block) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto bytes = static_cast<std::int64_t>(block.bytes);
  total_.add(-bytes);
  by_tag_[block.tag].add(-bytes);
  const auto captured = capture_blocks_.find(block.address);
  if (!pooled_ && captured == capture_blocks_.end()) return to_system(block.address);
  try {
    (captured != capture_blocks_.end() ? captured->second->cache_ : cache_)[block.bytes].push_back(block.address);
    if (captured != capture_blocks_.end()) capture_blocks_.erase(captured);
    cached_ += bytes;
  } catch (const std::bad_alloc&) {
    to_system(block.address);
  }
}

std::shared_ptr<CapturePool> PooledAllocator::begin_capture() {
  auto memory = std::make_shared<CapturePool>(*this);
  const std::scoped_lock lock(mutex_);
  if (capture_pool_ != nullptr) {
    throw ConfigError("captured step", fmt::format("another step is being captured on {}", to_string(device_)));
  }
  capture_pool_ = memory.get();
  capture_thread_ = std::this_thread::get_id();
  return memory;
}

void PooledAllocator::end_capture() noexcept {
  const std::scoped_lock lock(mutex_);
  capture_pool_ = nullptr;
  capture_thread_ = {};
}

void PooledAllocator::give_back(CapturePool& pool) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(capture_blocks_, [&](const auto& entry) { return entry.second == &pool; });
  for (auto& [size, blocks] : pool.cache_) {
    auto& known = cache_[size];
    known.insert(known.end(), blocks.begin(), blocks.end());
  }
  if (!pooled_) release_cache_locked();
}

CapturePool::~CapturePool() { owner_.give_back(*this); }

MemoryStatistics PooledAllocator::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_locked();
}

MemoryStatistics PooledAllocator::statistics_locked() const {
  MemoryStatistics result{.bytes_now = total_.now,
                          .bytes_peak = total_.peak,
                          .bytes_cached = cached_,
                          .system_allocations = system_allocations_,
                          .tags = {}};
  for (std::size_t tag = 0; tag < by_tag_.size(); ++tag) {
    if (by_tag_[tag].peak > 0) {
      result.tags.push_back({tag_names().name_of(static_cast<int>(tag)), by_tag_[tag].now, by_tag_[tag].peak});
    }
  }
  std::ranges::stable_sort(result.tags, std::ranges::greater{}, &TagStatistics::bytes_now);
  return result;
}

void PooledAllocator::reset_peak() {
  const std::scoped_lock lock(mutex_);
  total_.peak = total_.now;
  for (Usage& usage : by_tag_) usage.peak = usage.now;
}

void PooledAllocator::release_cache() noexcept {
  const std::scoped_lock lock(mutex_);
  release_cache_locked();
}

void PooledAllocator::release_cache_locked() noexcept {
  for (auto& [size, blocks] : cache_) {
    for (void* address : blocks) to_system(address);
    cached_ -= static_cast<std::int64_t>(size * blocks.size());
    blocks.clear();
  }
  if (device_.kind == Device::Kind::cuda) cuda_return_memory(device_.index);
}

void PooledAllocator::set_limit(std::int64_t bytes) {
  if (bytes < 0) throw ConfigError("set_memory_limit", fmt::format("must be 0 (no limit) or more, not {}", bytes));
  const std::scoped_lock lock(mutex_);
  limit_ = bytes;
}

void* PooledAllocator::from_system(std::size_t bytes) {
  if (device_.kind == Device::Kind::cuda) return cuda_allocate(device_.index, bytes);
  if (!pooled_) {  // not aligned_alloc, which would have to round up
    void* address = nullptr;
    return posix_memalign(&address, alignment, bytes) == 0 ? address : nullptr;
  }
  if (bytes < large_block) return std::aligned_alloc(alignment, bytes);
  void* address = std::aligned_alloc(large_page, bytes);
  if (address != nullptr) madvise(address, bytes, MADV_HUGEPAGE);  // a wish: the system may have none
  return address;
}

void PooledAllocator::to_system(void* address) noexcept {
  if (device_.kind == Device::Kind::cuda) {
    cuda_free(device_.index, address);
  } else {
    std::free(address);
  }
}

void PooledAllocator::fail(std::size_t bytes, const char* reason) const {
  const MemoryStatistics use = statistics_locked();
  std::string users;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, use.tags.size()); ++i) {
    users += fmt::format("{}{} {} bytes", i == 0 ? "" : ", ", use.tags[i].tag, use.tags[i].bytes_now);
  }
  throw AllocationError("memory", fmt::format("could not allocate {} bytes on {}: {}; {} bytes are in use ({}); a "
                                              "smaller batch or shorter sequences need less",
                                              bytes, to_string(device_), reason, use.bytes_now,
                                              users.empty() ? "by no tag" : "largest: " + users));
}

PooledAllocator& allocator_of(Device device) {
  // Never destroyed, so that tensors with static lifetime can still return their blocks.
  static PooledAllocator& cpu = *new PooledAllocator(Device::cpu());
  if (device.kind == Device::Kind::cpu) return cpu;
  static std::mutex mutex;
  static auto& gpus = *new std::map<int, std::unique_ptr<PooledAllocator>>;
  const std::scoped_lock lock(mutex);
  if (const auto known = gpus.find(device.index); known != gpus.end()) return *known->second;
  if (device.index < 0 || device.index >= cuda_device_count()) {
    throw DeviceError("memory", fmt::format("{} does not exist: this build and machine have {} CUDA devices; use "
                                            "Device::cpu(), or --device cpu",
                                            to_string(device), cuda_device_count()));
  }
  return *gpus.emplace(device.index, std::make_unique<PooledAllocator>(device)).first->second;
}

MemoryStatistics memory_statistics(Device device) { return allocator_of(device).statistics(); }
void reset_peak_memory(Device device) { allocator_of(device).reset_peak(); }
void release_cached_memory(Device device) { allocator_of(device).release_cache(); }
void set_memory_limit(std::int64_t bytes, Device device) { allocator_of(device).set_limit(bytes); }

MemoryTag::MemoryTag(const std::string& tag) : previous_(current_tag()) { current_tag() = tag_names().index_of(tag); }
MemoryTag::~MemoryTag() { current_tag() = previous_; }

}  // namespace bough
