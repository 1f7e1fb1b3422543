#include "tests/graph/plugin/libraries/every_second.h"

extern "C" void bough_register(bough::GeneratorRegistry& registry) {
  registry.add(bough::test::EverySecond::named("every_second"), bough::test::make_every_second);
}
