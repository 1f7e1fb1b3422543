#include "tests/graph/plugin/libraries/every_second.h"

// What a library compiled with the headers of another interface version calls.
extern "C" void bough_register(bough::GeneratorRegistry& registry) {
  registry.add<bough::generator_interface_version + 1>(bough::test::EverySecond::named("from_the_future"),
                                                       bough::test::make_every_second);
}
