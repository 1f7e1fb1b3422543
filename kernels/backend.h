#pragma once

namespace bough {

/// Tags that pick a backend by overload: every kernel is `name(Cpu, views...)`, and on a GPU `name(Cuda, views...)`.
struct Cpu {};
struct Cuda {
  int device = 0;
};

}  // namespace bough
