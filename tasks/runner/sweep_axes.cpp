#include "tasks/runner/sweep_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/core/json.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::size_t most_runs = 100'000;

std::string text_of(const SweepAxis& axis, std::size_t index) { return fmt::format("sweep.{}[{}]", axis.path, index); }

void require_different_values(const SweepAxis& axis) {
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (axis.values[before] != axis.values[i]) continue;
      throw ConfigError(text_of(axis, i), fmt::format("{} is given twice, it is {} too", json_excerpt(axis.values[i]),
                                                      text_of(axis, before)));
    }
  }
}

/// Whether some other value of the axis makes the error go away.
bool another_value_helps(const std::vector<SweepAxis>& axes, SweepPlace place, std::size_t axis,
                         const std::function<std::string(const json&)>& error_of) {
  const std::size_t given = place[axis];
  for (place[axis] = 0; place[axis] < axes[axis].values.size(); ++place[axis]) {
    if (place[axis] != given && error_of(settings_at(axes, place)).empty()) return true;
  }
  return false;
}

}  // namespace

std::vector<SweepAxis> read_sweep(const json& sweep) {
  if (!sweep.is_object()) {
    throw ConfigError("sweep", fmt::format("must be an object of lists, not {}", json_excerpt(sweep)));
  }
  std::vector<SweepAxis> axes;
  for (const auto& [path, values] : sweep.items()) {
    if (!values.is_array() || values.empty()) {
      throw ConfigError(fmt::format("sweep.{}", path),
                        fmt::format("must be a list of at least one value, not {}", json_excerpt(values)));
    }
    axes.push_back({path, values});
    require_different_values(axes.back());
  }
  std::ranges::stable_sort(axes, {}, [](const SweepAxis& axis) { return axis.path == "train.seed" ? 0 : 1; });
  return axes;
}

std::vector<SweepPlace> sweep_places(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
    if (count > most_runs) throw ConfigError("sweep", fmt::format("there would be more than {} runs", most_runs));
  }
  std::vector<SweepPlace> places;
  for (std::size_t number = 0; number < count; ++number) {
    SweepPlace place(axes.size());
    std::size_t rest = number;
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      place[axis] = rest % axes[axis].values.size();
      rest /= axes[axis].values.size();
    }
    places.push_back(std::move(place));
  }
  return places;
}

json settings_at(const std::vector<SweepAxis>& axes, const SweepPlace& place) {
  json settings = json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) settings[axes[i].path] = axes[i].values[place[i]];
  return settings;
}

std::string place_of_error(const std::vector<SweepAxis>& axes, const SweepPlace& place,
                           const std::function<std::string(const json&)>& error_of) {
  std::vector<std::string> guilty;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (another_value_helps(axes, place, i, error_of)) guilty.push_back(text_of(axes[i], place[i]));
  }
  if (!guilty.empty()) return fmt::format("{}", fmt::join(guilty, " with "));

  const json settings = settings_at(axes, place);
  const std::string error = error_of(settings);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    json others = settings;
    others.erase(axes[i].path);
    if (error_of(others) == error) continue;
    SweepPlace first = place;
    first[i] = place[i] == 0 ? axes[i].values.size() - 1 : 0;
    const bool any_value_fails_so = first[i] != place[i] && error_of(settings_at(axes, first)) == error;
    return any_value_fails_so ? "sweep." + axes[i].path : text_of(axes[i], place[i]);
  }
  return "";
}

}  // namespace bough::runner
