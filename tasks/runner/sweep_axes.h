#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bough::runner {

/// One dotted path of a sweep and the values that it takes.
struct SweepAxis {
  std::string path;
  nlohmann::json values;  ///< a list, not empty
};

/// One run of a sweep: for each axis the place of its value in the list.
using SweepPlace = std::vector<std::size_t>;

/// The axes in the order in which they vary, the slowest first: seeds, so that a sweep that is stopped early has run
/// every setting, then by path. ConfigError naming the place for a list without values or with a value twice.
std::vector<SweepAxis> read_sweep(const nlohmann::json& sweep);

/// All combinations; the last axis varies fastest. ConfigError if there are more than 100 000.
std::vector<SweepPlace> sweep_places(const std::vector<SweepAxis>& axes);

/// What a run sets: {"train.seed": 1, ...}.
nlohmann::json settings_at(const std::vector<SweepAxis>& axes, const SweepPlace& place);

/// The values that make a run fail, as people find them in the file: "sweep.graph[1]", several joined by " with " if
/// only their combination fails, "sweep.train.sed" if the path itself does. Empty if the error has nothing to do with
/// the sweep. `error_of` gives the error of a run with these settings, empty if it has none.
std::string place_of_error(const std::vector<SweepAxis>& axes, const SweepPlace& place,
                           const std::function<std::string(const nlohmann::json& settings)>& error_of);

}  // namespace bough::runner
