#include "bough/graph/graph_generator.h"

// Of an object file that the author forgot to link.
void left_out(double);

extern "C" void bough_register(bough::GeneratorRegistry&) { left_out(1); }
