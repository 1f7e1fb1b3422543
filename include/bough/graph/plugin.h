#pragma once

#include <filesystem>

#include "bough/graph/graph_generator.h"

namespace bough {

/// Loads a shared library with generators and adds them to the registry: all of them, or none if anything goes wrong.
///
/// The library exports
///
///     extern "C" void bough_register(bough::GeneratorRegistry& registry);
///
/// which adds them; the registry is there only during the call. A plain file name is looked for in the working
/// directory, then where the system keeps libraries. Loading a library again does nothing. It stays loaded until the
/// process ends.
///
/// ConfigError if there is no such file, if it is empty, cut short or no library for this machine, lacks the entry, was
/// built against another version of the interface, throws, registers nothing, or uses a name that is taken or not
/// allowed. The registry is then as it was.
void load_plugin(const std::filesystem::path& library, GeneratorRegistry& registry = generators());

}  // namespace bough
