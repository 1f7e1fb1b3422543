#include "tasks/runner/sweep_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::size_t most_runs = 100'000;

std::string text_of(const SweepColumn& column, std::size_t index) { return fmt::format("{}[{}]", column.place, index); }

SweepColumn read_column(const std::string& path, const json& values, const std::string& parent) {
  const std::string place = fmt::format("{}.{}", parent, path);
  if (!values.is_array() || values.empty()) {
    throw ConfigError(place, fmt::format("must be a list of at least one value, not {}", json_excerpt(values)));
  }
  return {path, values, place};
}

json row_of(const SweepAxis& axis, std::size_t index) {
  json row = json::array();
  for (const SweepColumn& column : axis.columns) row.push_back(column.values[index]);
  return row;
}

void require_different_rows(const SweepAxis& axis) {
  const SweepColumn& first = axis.columns.front();
  for (std::size_t i = 0; i < axis.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (row_of(axis, before) != row_of(axis, i)) continue;
      if (axis.columns.size() == 1) {
        throw ConfigError(text_of(first, i), fmt::format("{} is given twice, it is {} too",
                                                         json_excerpt(first.values[i]), text_of(first, before)));
      }
      throw ConfigError(text_of(first, i), fmt::format("this value and those zipped with it, {}, are given twice, as "
                                                       "number {} too",
                                                       json_excerpt(row_of(axis, i)), before));
    }
  }
}

SweepAxis read_zip(const json& zip, const std::string& place) {
  if (!zip.is_object() || zip.empty()) {
    throw ConfigError(
        place, fmt::format("must be an object of lists that are walked through together, not {}", json_excerpt(zip)));
  }
  SweepAxis axis;
  for (const auto& [path, values] : zip.items()) {
    const SweepColumn& column = axis.columns.emplace_back(read_column(path, values, place));
    if (column.values.size() == axis.size()) continue;
    throw ConfigError(place, fmt::format("lists that are walked through together must be equally long; {} has {} "
                                         "value{}, {} has {}",
                                         axis.columns.front().path, axis.size(), axis.size() == 1 ? "" : "s",
                                         column.path, column.values.size()));
  }
  return axis;
}

/// "zip" may be one object or a list of them.
std::vector<SweepAxis> read_zips(const json& zips) {
  const std::string place = fmt::format("sweep.{}", zip_key);
  if (!zips.is_array()) return {read_zip(zips, place)};
  std::vector<SweepAxis> axes;
  for (std::size_t i = 0; i < zips.size(); ++i) axes.push_back(read_zip(zips[i], fmt::format("{}[{}]", place, i)));
  return axes;
}

void require_different_paths(const std::vector<SweepAxis>& axes) {
  std::map<std::string, std::string> place_of;
  for (const SweepAxis& axis : axes) {
    for (const SweepColumn& column : axis.columns) {
      const auto [other, added] = place_of.emplace(column.path, column.place);
      if (!added) throw ConfigError(column.place, fmt::format("is swept twice, by {} too", other->second));
    }
  }
}

/// A column and the place of its value. Errors are looked for in single columns: what is zipped in the experiment may
/// fail for one of its values alone.
struct Choice {
  const SweepColumn* column;
  std::size_t index;
};

std::vector<Choice> choices_at(const std::vector<SweepAxis>& axes, const SweepPlace& place) {
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const SweepColumn& column : axes[i].columns) choices.push_back({&column, place[i]});
  }
  return choices;
}

json settings_of(const std::vector<Choice>& choices) {
  json settings = json::object();
  for (const Choice& choice : choices) settings[choice.column->path] = choice.column->values[choice.index];
  return settings;
}

/// Whether some other value of the column makes the error go away.
bool another_value_helps(std::vector<Choice> choices, std::size_t column,
                         const std::function<std::string(const json&)>& error_of) {
  Choice& tried = choices[column];
  const std::size_t given = tried.index;
  for (tried.index = 0; tried.index < tried.column->values.size(); ++tried.index) {
    if (tried.index != given && error_of(settings_of(choices)).empty()) return true;
  }
  return false;
}

}  // namespace

bool SweepAxis::has_path(const std::string& path) const {
  return std::ranges::find(columns, path, &SweepColumn::path) != columns.end();
}

std::vector<const SweepColumn*> SweepAxis::naming_columns() const {
  std::vector<const SweepColumn*> order;
  for (const SweepColumn& column : columns) order.push_back(&column);
  std::ranges::stable_sort(order, {}, [](const SweepColumn* column) {
    return column->path == "graph" ? 0 : column->path == "task.length" ? 1 : 2;
  });
  std::vector<const SweepColumn*> naming;
  std::vector<json> rows(size(), json::array());
  for (const SweepColumn* column : order) {
    const std::size_t before = std::set(rows.begin(), rows.end()).size();
    if (before == size()) break;
    for (std::size_t i = 0; i < size(); ++i) rows[i].push_back(column->values[i]);
    if (std::set(rows.begin(), rows.end()).size() > before) naming.push_back(column);
  }
  return naming;
}

std::vector<SweepAxis> read_sweep(const json& sweep) {
  if (!sweep.is_object()) {
    throw ConfigError("sweep", fmt::format("must be an object of lists, not {}", json_excerpt(sweep)));
  }
  std::vector<SweepAxis> axes;
  for (const auto& [path, values] : sweep.items()) {
    if (path == zip_key) {
      for (SweepAxis& axis : read_zips(values)) axes.push_back(std::move(axis));
    } else {
      axes.push_back({{read_column(path, values, "sweep")}});
    }
  }
  require_different_paths(axes);
  std::ranges::for_each(axes, require_different_rows);
  std::ranges::stable_sort(axes, {}, [](const SweepAxis& axis) {
    return std::pair(!axis.has_path("train.seed"), axis.columns.front().path);
  });
  return axes;
}

std::vector<std::string> swept_paths(const json& sweep) {
  std::vector<std::string> paths;
  const auto add_keys = [&paths](const json& object) {
    if (!object.is_object()) return;
    for (const auto& [path, values] : object.items()) {
      if (path != zip_key) paths.push_back(path);
    }
  };
  add_keys(sweep);
  const json zips = sweep.is_object() ? sweep.value(zip_key, json()) : json();
  zips.is_array() ? void(std::ranges::for_each(zips, add_keys)) : add_keys(zips);
  return paths;
}

std::vector<SweepPlace> sweep_places(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.size();
    if (count > most_runs) throw ConfigError("sweep", fmt::format("there would be more than {} runs", most_runs));
  }
  std::vector<SweepPlace> places;
  for (std::size_t number = 0; number < count; ++number) {
    SweepPlace place(axes.size());
    std::size_t rest = number;
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      place[axis] = rest % axes[axis].size();
      rest /= axes[axis].size();
    }
    places.push_back(std::move(place));
  }
  return places;
}

json settings_at(const std::vector<SweepAxis>& axes, const SweepPlace& place) {
  return settings_of(choices_at(axes, place));
}

std::vector<std::string> following_paths(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> paths;
  for (const SweepAxis& axis : axes) {
    const std::vector<const SweepColumn*> naming = axis.naming_columns();
    for (const SweepColumn& column : axis.columns) {
      if (axis.size() > 1 && std::ranges::find(naming, &column) == naming.end()) paths.push_back(column.path);
    }
  }
  return paths;
}

std::string place_of_error(const std::vector<SweepAxis>& axes, const SweepPlace& place,
                           const std::function<std::string(const json&)>& error_of) {
  const std::vector<Choice> choices = choices_at(axes, place);
  std::vector<std::string> guilty;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (another_value_helps(choices, i, error_of)) guilty.push_back(text_of(*choices[i].column, choices[i].index));
  }
  if (!guilty.empty()) return fmt::format("{}", fmt::join(guilty, " with "));

  const json settings = settings_of(choices);
  const std::string error = error_of(settings);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    json others = settings;
    others.erase(choice.column->path);
    if (error_of(others) == error) continue;
    std::vector<Choice> first = choices;
    first[i].index = choice.index == 0 ? choice.column->values.size() - 1 : 0;
    const bool any_value_fails_so = first[i].index != choice.index && error_of(settings_of(first)) == error;
    return any_value_fails_so ? choice.column->place : text_of(*choice.column, choice.index);
  }
  return "";
}

}  // namespace bough::runner
