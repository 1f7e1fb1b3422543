#include "tests/graph/plugin/libraries/every_second.h"

extern "C" void bough_register(bough::GeneratorRegistry& registry) {
  registry.add(bough::test::EverySecond::named("added_before_the_clash"), bough::test::make_every_second);
  registry.add(bough::test::EverySecond::named("bpt"), bough::test::make_every_second);
}
