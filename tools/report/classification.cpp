#include "tools/report/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bough::report {
namespace {

using nlohmann::json;
using Runs = std::vector<const runner::RunResult*>;

json metric_named(const runner::RunResult& run, const char* name) {
  return run.metrics.is_object() ? run.metrics.value(name, json()) : json();
}

bool is_list_of(const json& value, bool (*fits)(const json&)) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, fits);
}
bool is_text(const json& value) { return value.is_string(); }
bool is_number(const json& value) { return value.is_number(); }
bool is_row(const json& value) { return is_list_of(value, is_number); }
bool is_class(const json& value) {
  return value.is_object() && value.value("label", json()).is_string() &&
         std::ranges::all_of(std::initializer_list<const char*>{"precision", "recall", "f1", "texts"},
                             [&](const char* key) { return value.value(key, json()).is_number(); });
}

/// Square, with a row and a column for each label.
bool is_confusion(const json& value, std::size_t classes) {
  return is_list_of(value, is_row) && value.size() == classes &&
         std::ranges::all_of(value, [classes](const json& row) { return row.size() == classes; });
}

void add_confusion(const Runs& runs, Classification& result) {
  const json labels = metric_named(*runs.front(), "labels");
  if (!is_list_of(labels, is_text)) return;
  const bool fit = std::ranges::all_of(runs, [&labels](const auto* run) {
    return metric_named(*run, "labels") == labels && is_confusion(metric_named(*run, "confusion"), labels.size());
  });
  if (!fit) return;
  result.labels = labels.get<std::vector<std::string>>();
  result.confusion.assign(labels.size(), std::vector<std::int64_t>(labels.size()));
  for (const runner::RunResult* run : runs) {
    const json confusion = metric_named(*run, "confusion");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t j = 0; j < labels.size(); ++j) result.confusion[i][j] += confusion[i][j].get<std::int64_t>();
    }
  }
}

std::vector<std::string> class_names(const json& classes) {
  std::vector<std::string> names;
  for (const json& one : classes) names.push_back(one["label"]);
  return names;
}

void add_classes(const Runs& runs, Classification& result) {
  std::vector<json> all;
  for (const runner::RunResult* run : runs) all.push_back(metric_named(*run, "classes"));
  if (!std::ranges::all_of(all, [](const json& classes) { return is_list_of(classes, is_class); })) return;
  std::vector<double> macro_f1;
  for (const runner::RunResult* run : runs) macro_f1.push_back(runner::metric_of(*run, "macro_f1"));
  const bool all_tell = std::ranges::all_of(macro_f1, [](double value) { return std::isfinite(value); });
  if (all_tell) result.macro_f1 = statistic_of(macro_f1);
  const std::vector<std::string> names = class_names(all.front());
  if (!std::ranges::all_of(all, [&names](const json& classes) { return class_names(classes) == names; })) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto over_seeds = [&](const char* key) {
      std::vector<double> values;
      for (const json& classes : all) values.push_back(classes[i][key]);
      return statistic_of(values);
    };
    result.classes.push_back({.label = names[i],
                              .precision = over_seeds("precision"),
                              .recall = over_seeds("recall"),
                              .f1 = over_seeds("f1"),
                              .texts = over_seeds("texts")});
  }
}

void add_shifts(const Runs& runs, Classification& result) {
  std::vector<json> all;
  for (const runner::RunResult* run : runs) all.push_back(metric_named(*run, "shifts"));
  const bool fit = std::ranges::all_of(
      all, [&all](const json& shifts) { return is_row(shifts) && shifts.size() == all.front().size(); });
  if (!fit) return;
  for (std::size_t shift = 0; shift < all.front().size(); ++shift) {
    std::vector<double> values;
    for (const json& shifts : all) values.push_back(shifts[shift]);
    result.shifts.push_back(statistic_of(values));
  }
}

}  // namespace

std::int64_t Classification::texts_of(std::size_t true_class) const {
  const std::vector<std::int64_t>& row = confusion.at(true_class);
  return std::max<std::int64_t>(1, std::accumulate(row.begin(), row.end(), std::int64_t{0}));
}

Classification classification_of(const Runs& runs) {
  Classification result;
  if (runs.empty()) return result;
  add_confusion(runs, result);
  add_classes(runs, result);
  add_shifts(runs, result);
  return result;
}

}  // namespace bough::report
