#include "tools/bench/openblas.h"

#include <dlfcn.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <array>
#include <cstdlib>

#include "bough/core/parallel.h"

namespace bough::bench {
namespace {

// The values of cblas.h, which need not be installed.
constexpr int row_major = 101, as_it_is = 111, transposed = 112;

template <typename Function>
Function symbol(const std::shared_ptr<void>& library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library.get(), name));
}

std::shared_ptr<void> load(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return {handle, [](void* library) {
            if (library != nullptr) dlclose(library);
          }};
}

std::string core_name(const std::shared_ptr<void>& library) {
  const auto corename = symbol<char* (*)()>(library, "openblas_get_corename");
  return corename == nullptr ? "" : corename();
}

bool has_threads(const std::shared_ptr<void>& library) {
  const auto parallel = symbol<int (*)()>(library, "openblas_get_parallel");
  return parallel != nullptr && parallel() != 0;
}

/// The threads of OpenBLAS spin for 2^26 cycles after a call, and again after each wake-up: the pause between the two
/// sides of a benchmark does not outlast that, and the other side then has one core less. 2^4 is the least it takes;
/// it reads the variable when it is loaded.
void let_threads_sleep_after_a_call() { setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0); }

/// On a processor newer than itself OpenBLAS falls back to its oldest kernels. The peer should be at its best, so it is
/// then loaded again and told of a processor that has the same instructions.
std::shared_ptr<void> load_for_this_processor(const char* name) {
  std::shared_ptr<void> library = load(name);
  if (library == nullptr || core_name(library) != "Prescott" || std::getenv("OPENBLAS_CORETYPE") != nullptr) {
    return library;
  }
  const std::int64_t targets = hwy::SupportedTargets();
  if ((targets & (HWY_AVX3 | HWY_AVX2)) == 0) return library;
  setenv("OPENBLAS_CORETYPE", (targets & HWY_AVX3) != 0 ? "SkylakeX" : "Haswell", 1);
  library = nullptr;
  return load(name);
}

}  // namespace

std::optional<OpenBlas> OpenBlas::find() {
  // By name first, so that LD_LIBRARY_PATH can point to another one; then where Debian keeps the threaded one beside
  // others. "libopenblas.so.0" may be the one without threads.
  let_threads_sleep_after_a_call();
  for (const char* name : {"libopenblasp.so.0", BOUGH_DEBIAN_OPENBLAS, "libopenblas.so.0"}) {
    std::shared_ptr<void> library = load_for_this_processor(name);
    if (library == nullptr || !has_threads(library)) continue;
    const auto sgemm = symbol<Sgemm>(library, "cblas_sgemm");
    const auto set_threads = symbol<void (*)(int)>(library, "openblas_set_num_threads");
    if (sgemm == nullptr || set_threads == nullptr) continue;
    set_threads(num_threads());
    const std::string core = core_name(library);
    return OpenBlas(std::move(library), sgemm, "OpenBLAS " + core);
  }
  return std::nullopt;
}

void OpenBlas::multiply(std::int64_t m, std::int64_t n, std::int64_t k, Operand a, Operand b, float* c) const {
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  sgemm_(row_major, a.transposed ? transposed : as_it_is, b.transposed ? transposed : as_it_is, size(m), size(n),
         size(k), 1, a.data, size(a.transposed ? m : k), b.data, size(b.transposed ? k : n), 0, c, size(n));
}

}  // namespace bough::bench
