#pragma once

#include "bough/core/random.h"

namespace bough {

/// Runs the calling thread's default generator from another state, and puts it back.
class GeneratorState {
 public:
  explicit GeneratorState(RandomStream state) : previous_(default_generator().state()) {
    default_generator().set_state(state);
  }
  ~GeneratorState() { default_generator().set_state(previous_); }
  GeneratorState(const GeneratorState&) = delete;
  GeneratorState& operator=(const GeneratorState&) = delete;

 private:
  RandomStream previous_;
};

}  // namespace bough
