#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace bough::test {

/// A Python that can import a module: the program that BOUGH_PYTHON names, or one of the usual ones.
inline std::optional<std::string> python_with(const std::string& module) {
  std::vector<std::string> programs{"python3", "/usr/bin/python3"};
  if (const char* chosen = std::getenv("BOUGH_PYTHON"); chosen != nullptr) programs.insert(programs.begin(), chosen);
  for (const std::string& program : programs) {
    if (std::system(("'" + program + "' -c 'import " + module + "' >/dev/null 2>&1").c_str()) == 0) return program;
  }
  return std::nullopt;
}

/// Runs a script in a folder; true if it ends well.
inline bool run_python(const std::string& program, const TemporaryFolder& folder, const std::string& script) {
  const std::string file = folder.file("script.py");
  write_file(file, script);
  return std::system(("cd '" + std::filesystem::path(file).parent_path().string() + "' && '" + program + "' script.py")
                         .c_str()) == 0;
}

}  // namespace bough::test
