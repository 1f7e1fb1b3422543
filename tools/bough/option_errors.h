#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Messages of CLI11 about options in other words; they are texts, so that this needs no CLI11.
namespace bough::cli {

/// ", did you mean 'run'?", or nothing if no known name is near.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& known);

/// What stands in a text between two others; empty if they are not there.
std::string between(const std::string& text, const std::string& before, const std::string& after);

/// "--jobs: Value 0 not in range 1 to 1024" in other words; empty if the text is none like it.
std::string describe_range_error(const std::string& text);

}  // namespace bough::cli
