#include <stdexcept>

#include "tests/graph/plugin/libraries/every_second.h"

extern "C" void bough_register(bough::GeneratorRegistry& registry) {
  registry.add(bough::test::EverySecond::named("added_before_the_throw"), bough::test::make_every_second);
  throw std::runtime_error("the licence server is asleep");
}
