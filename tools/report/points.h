#pragma once

#include "tools/report/summary.h"

namespace bough::report {

/// Where Point::settings has the length of a sequence.
inline constexpr const char* length_path = "task.length";

/// The settings of all runs that are done and have a score, by length, then degree.
std::vector<Point> points_of(const runner::Results& results);

/// "model.layers 4": a setting as labels have it.
std::string describe_value(const std::string& path, const nlohmann::json& value);

}  // namespace bough::report
