#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace bough::test {

/// A file of tests/fixtures: numbers from outside, with the script that made them beside it.
inline nlohmann::json read_fixture(const std::string& name) {
  const std::string path = std::string(BOUGH_FIXTURES) + "/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(file);
}

}  // namespace bough::test
