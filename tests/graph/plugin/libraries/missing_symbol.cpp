#include "bough/graph/graph_generator.h"

// Declared in the headers it was built with, but gone from the library it meets.
extern "C" void bough_function_of_another_version();

extern "C" void bough_register(bough::GeneratorRegistry&) { bough_function_of_another_version(); }
