#include "bough/graph/graph_generator.h"

namespace bough {
// Declared in the headers it was built with, but gone from the library it meets.
void function_of_another_version(int);
}  // namespace bough

extern "C" void bough_register(bough::GeneratorRegistry&) { bough::function_of_another_version(1); }
