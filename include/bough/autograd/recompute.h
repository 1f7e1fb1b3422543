#pragma once

#include <functional>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// f(inputs), keeping nothing for backward but the inputs: backward runs f a second time and then goes through it.
/// Memory for time: of several segments run like this, only one has its intermediate tensors alive at any moment.
///
/// f is called as it is, with the inputs as they are, and may also read parameters and other tensors from outside; all
/// that require a gradient get the same one, bit for bit, as from a plain call of f. The second run starts where the
/// first did in the random numbers of default_generator(), so dropout masks are equal, and leaves the generator as it
/// found it; a generator of f's own is not wound back.
///
/// f must give the same result again and must not write to anything: whatever it refers to has to live until backward
/// is done, and to be in the same mode (Module::train). AutogradError in backward if an input or a parameter was
/// written in place in between, or if the second result has another shape or type. Under NoGrad, or if nothing in f
/// requires a gradient, it is f(inputs) and f is not called again. Calls may be nested.
///
/// Costs one more forward of f, and one look at its recorded operations.
Tensor recompute(std::function<Tensor(const std::vector<Tensor>&)> f, const std::vector<Tensor>& inputs);

}  // namespace bough
