#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <system_error>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "graph/plugin/library_file.h"

namespace bough {
namespace {

using RegisterFunction = void (*)(GeneratorRegistry&);
constexpr const char* entry = "bough_register";

std::string last_error() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

/// The name to load: absolute for a file that is there, as given for the system to look up otherwise.
std::string resolve(const std::filesystem::path& library) {
  std::error_code error;
  if (std::filesystem::is_directory(library, error)) {
    throw ConfigError("plug-in", fmt::format("'{}' is a folder, not a shared library", library.string()));
  }
  if (std::filesystem::exists(library, error)) return std::filesystem::canonical(library).string();
  const bool is_path = library.has_parent_path();
  if (is_path || library.empty()) throw ConfigError("plug-in", fmt::format("there is no file '{}'", library.string()));
  return library.string();
}

/// dlerror names the file that it could not find: the library itself, or one that it depends on.
bool was_not_found(const std::string& name, const std::string& message) {
  return message.starts_with(name + ": cannot open shared object file: No such file");
}

RegisterFunction open_library(const std::string& name, const std::string& where) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) {
    if (const std::string problem = library_file_problem(name); !problem.empty()) throw ConfigError(where, problem);
  }
  // All symbols are looked up now: a library built against other headers fails here, not in the middle of a run.
  std::unique_ptr<void, int (*)(void*)> handle(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL), &dlclose);
  if (handle == nullptr) {
    const std::string message = last_error();
    if (was_not_found(name, message)) {
      throw ConfigError("plug-in", fmt::format("there is no file '{}' here and no library of that name where the "
                                               "system keeps them",
                                               name));
    }
    throw ConfigError(where, explain_load_error(message));
  }
  void* symbol = dlsym(handle.get(), entry);
  if (symbol == nullptr) {
    throw ConfigError(
        where, fmt::format(R"(has no entry: it must export extern "C" void {}(bough::GeneratorRegistry&))", entry));
  }
  static_cast<void>(handle.release());  // its code is in use from here on
  return reinterpret_cast<RegisterFunction>(symbol);
}

}  // namespace

void load_plugin(const std::filesystem::path& library, GeneratorRegistry& registry) {
  const std::string name = resolve(library);
  const std::string where = fmt::format("plug-in {}", library.string());
  if (std::ranges::any_of(registry.list(), [&](const auto& known) { return known.origin == name; })) return;

  const RegisterFunction add_generators = open_library(name, where);
  GeneratorRegistry trial = registry;
  trial.set_origin(name);
  try {
    add_generators(trial);
  } catch (const std::exception& error) {
    throw ConfigError(where, fmt::format("could not register its generators: {}", error.what()));
  } catch (...) {
    throw ConfigError(where, "could not register its generators: it threw something that is no std::exception");
  }
  if (registry.take(trial, name) == 0) throw ConfigError(where, "registered no generators");
}

}  // namespace bough
