#pragma once

/// ThreadSanitizer cannot look into TBB, so it takes the hand-over of work to other threads and back for a race. These
/// two say that it is none: what came before note_release(p) is visible after note_acquire(p). They come with the
/// sanitizer and do not exist elsewhere, where nothing is called.
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace bough {

inline void note_acquire(void* address) {
  if (__tsan_acquire != nullptr) __tsan_acquire(address);
}
inline void note_release(void* address) {
  if (__tsan_release != nullptr) __tsan_release(address);
}

/// A stretch of a thread's work between two such points.
class NotedWork {
 public:
  NotedWork(void* start, void* end) : end_(end) { note_acquire(start); }
  ~NotedWork() { note_release(end_); }
  NotedWork(const NotedWork&) = delete;
  NotedWork& operator=(const NotedWork&) = delete;

 private:
  void* end_;
};

}  // namespace bough
