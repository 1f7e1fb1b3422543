#include "bough/graph/graph_generator.h"

extern "C" void bough_register(bough::GeneratorRegistry&) { throw 42; }
