#pragma once

#include <functional>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// f(inputs), keeping nothing for backward but the inputs: backward runs f a second time and then goes through it.
/// Memory for time: of several functions run like this, only one has its intermediate tensors alive at any moment.
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

/// f(inputs), recorded as always, whose result backward makes again instead of keeping it: operations that need it for
/// their gradient, those in f and those it is given to, keep f and the inputs. For results that are large and quickly
/// made from what is kept anyway. Results may be inputs of further ones, and are then made again one after the other.
///
/// All that f reads and that may be written to must be among the inputs: AutogradError in backward if one was written
/// in place. The rest is as for recompute: the same gradients bit for bit, the same random numbers, f must give the
/// same result again. A view of the result is kept as a value. With retain_graph, values that were made again stay.
///
/// Costs one more forward of f, without its gradient, in each backward that reads the result.
Tensor recompute_value(std::function<Tensor(const std::vector<Tensor>&)> f, const std::vector<Tensor>& inputs);

}  // namespace bough
