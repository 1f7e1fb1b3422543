#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bough::runner {

/// The key of a sweep whose lists are walked through together.
inline constexpr const char* zip_key = "zip";

/// A dotted path and the values that it takes.
struct SweepColumn {
  std::string path;
  nlohmann::json values;  ///< a list, not empty
  std::string place;      ///< of the list in the experiment: "sweep.train.seed", "sweep.zip[1].task.length"
};

/// What varies independently of everything else: one path, or the paths of a zip, which take their first values
/// together, then their second ones, and so on.
struct SweepAxis {
  std::vector<SweepColumn> columns;  ///< not empty, by path, equally long

  std::size_t size() const { return columns.front().values.size(); }
  bool has_path(const std::string& path) const;
  /// Columns that tell the rows apart: as few as possible from the front, graph and length before others. The other
  /// columns follow from them.
  std::vector<const SweepColumn*> naming_columns() const;
};

/// One run of a sweep: for each axis the place of its value in the list.
using SweepPlace = std::vector<std::size_t>;

/// The axes in the order in which they vary, the slowest first: seeds, so that a sweep that is stopped early has run
/// every setting, then by path. ConfigError naming the place for a list without values or with a value twice, for a zip
/// of lists that are not equally long or with the same values twice, and for a path that is given twice.
std::vector<SweepAxis> read_sweep(const nlohmann::json& sweep);

/// All paths that a sweep names, those of its zips included; what is not well formed is left out.
std::vector<std::string> swept_paths(const nlohmann::json& sweep);

/// All combinations; the last axis varies fastest. ConfigError if there are more than 100 000.
std::vector<SweepPlace> sweep_places(const std::vector<SweepAxis>& axes);

/// What a run sets: {"train.seed": 1, ...}.
nlohmann::json settings_at(const std::vector<SweepAxis>& axes, const SweepPlace& place);

/// Paths whose values follow from those of other paths of their zip.
std::vector<std::string> following_paths(const std::vector<SweepAxis>& axes);

/// The values that make a run fail, as people find them in the file: "sweep.graph[1]", several joined by " with " if
/// only their combination fails, "sweep.train.sed" if the path itself does. Empty if the error has nothing to do with
/// the sweep. `error_of` gives the error of a run with these settings, empty if it has none.
std::string place_of_error(const std::vector<SweepAxis>& axes, const SweepPlace& place,
                           const std::function<std::string(const nlohmann::json& settings)>& error_of);

}  // namespace bough::runner
