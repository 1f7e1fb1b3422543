#include "tools/bough/option_errors.h"

#include <fmt/format.h>

#include "src/core/nearest_name.h"

namespace bough::cli {
namespace {

/// "0.001" for "0.001000".
std::string without_zeros(const std::string& number) {
  if (number.find('.') == std::string::npos) return number;
  const std::string shorter = number.substr(0, number.find_last_not_of('0') + 1);
  return shorter.ends_with('.') ? shorter.substr(0, shorter.size() - 1) : shorter;
}

}  // namespace

std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find(after, begin + before.size());
  return end == std::string::npos ? "" : text.substr(begin + before.size(), end - begin - before.size());
}

std::string describe_range_error(const std::string& text) {
  const std::string name = text.substr(0, text.find(": ")), value = between(text, ": Value ", " not in range "),
                    smallest = between(text, " not in range ", " to ");
  if (value.empty() || smallest.empty()) return "";
  const std::string largest = text.substr(text.find(" to ", text.find(" not in range ")) + 4);
  const bool is_number = value.find_first_not_of("+-.0123456789e") == std::string::npos;
  return fmt::format("{} {} a number from {} to {}, not {}", name, is_number ? "must be" : "expects",
                     without_zeros(smallest), without_zeros(largest), is_number ? value : "'" + value + "'");
}

}  // namespace bough::cli
