#include "src/core/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace bough {
namespace {

/// Edit distance with swaps of neighbours (optimal string alignment), row by row.
std::size_t edits_between(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before_last(right.size() + 1), last(right.size() + 1), row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (left[i - 1] != right[j - 1])});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[right.size()];
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// "lr" of "learning_rate".
std::string initials_of(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '_' && (i == 0 || name[i - 1] == '_')) result += name[i];
  }
  return result;
}

/// Other ways in which people write a name: in capitals, by its initials, with words before it ("num_heads").
bool is_way_to_write(std::string_view wanted, const std::string& name) {
  const std::string lower = lower_case(wanted);
  return lower == lower_case(name) || (lower.size() > 1 && lower == initials_of(name)) ||
         (name.size() > 2 && lower.ends_with("_" + name));
}

}  // namespace

std::string nearest_name(std::string_view wanted, std::span<const std::string> known, std::size_t most_edits) {
  std::string nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : known) {
    const std::size_t longer = std::max(wanted.size(), name.size());
    const std::size_t allowed = std::min(most_edits, std::max<std::size_t>(1, longer / 3));
    if (longer - std::min(wanted.size(), name.size()) > allowed) continue;
    const std::size_t edits = edits_between(wanted, name);
    if (edits <= allowed && edits < fewest && edits < longer) {
      nearest = name;
      fewest = edits;
    }
  }
  if (!nearest.empty() || most_edits != std::numeric_limits<std::size_t>::max()) return nearest;
  const auto other =
      std::ranges::find_if(known, [&](const std::string& name) { return is_way_to_write(wanted, name); });
  return other == known.end() ? "" : *other;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

}  // namespace bough
