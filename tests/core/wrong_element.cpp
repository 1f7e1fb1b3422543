// Does not compile: tensors have no elements of type std::size_t. CMakeLists.txt looks for the sentence that says so.
#include <vector>

#include "bough/core/tensor.h"

bough::Tensor sizes() { return bough::Tensor::from_vector(std::vector<std::size_t>{1, 2}, {2}); }
