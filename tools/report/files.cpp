#include "src/core/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "tools/report/findings.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json to_json(const Statistic& value) {
  return {{"mean", value.mean}, {"deviation", value.deviation}, {"count", value.count}};
}

/// Null where no run tells.
ordered_json known(const Statistic& value) { return value.count > 0 ? to_json(value) : ordered_json(); }

ordered_json to_json(const Classification& classification) {
  ordered_json entry = {{"labels", classification.labels}, {"confusion", classification.confusion}};
  entry["classes"] = ordered_json::array();
  for (const ClassScores& one : classification.classes) {
    entry["classes"].push_back({{"label", one.label},
                                {"precision", to_json(one.precision)},
                                {"recall", to_json(one.recall)},
                                {"f1", to_json(one.f1)},
                                {"texts", to_json(one.texts)}});
  }
  entry["shifts"] = ordered_json::array();
  for (const Statistic& score : classification.shifts) entry["shifts"].push_back(to_json(score));
  return entry;
}

/// Lists are in results.json, and in the points where the page shows them.
void leave_numbers(ordered_json& metrics) {
  if (!metrics.is_object()) return;
  for (auto metric = metrics.begin(); metric != metrics.end();) {
    metric = metric->is_structured() ? metrics.erase(metric) : std::next(metric);
  }
}

ordered_json to_json(const Interval& interval) { return {interval.low, interval.high}; }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  AtomicFileWriter writer(path.string());
  writer.write(text.data(), text.size());
  writer.commit();
}

const char* to_string(Times times) {
  switch (times) {
    case Times::comparable:
      return "comparable";
    case Times::doubtful:
      return "doubtful";
    case Times::left_out:
      return "left out";
  }
  return "";
}

ordered_json to_json(const SeriesStyle& style) {
  ordered_json dash = ordered_json::array();
  std::istringstream numbers(style.dash);
  for (int number = 0; numbers >> number;) dash.push_back(number);
  return {{"colour", style.colour}, {"dash", dash}, {"shape", style.shape}, {"shade", style.shade}};
}

ordered_json to_json(const runner::Metric& metric) {
  return {{"name", metric.name}, {"label", metric.label}, {"lower_is_better", metric.lower_is_better}};
}

ordered_json further_metrics_json(const Point& point) {
  ordered_json entry = ordered_json::object();
  for (const auto& [name, score] : point.further_metrics) entry[name] = to_json(score);
  return entry;
}

ordered_json to_json(const Point& point, const SeriesStyle& style) {
  return {{"label", point.label},
          {"name", point.name},
          {"kind", point.kind},
          {"pattern", point.pattern},
          {"graph", point.graph},
          {"settings", point.settings},
          {"config", point.config},
          {"degree", point.degree},
          {"length", point.length},
          {"num_edges", point.num_edges},
          {"num_nodes", point.num_nodes},
          {"parameters", point.parameters},
          {"metric", to_json(point.metric)},
          {"last_metric", known(point.last_metric)},
          {"best_step", known(point.best_step)},
          {"further_metrics", further_metrics_json(point)},
          {"classification", to_json(point.classification)},
          {"tokens_per_second", to_json(point.tokens_per_second)},
          {"train_seconds", to_json(point.train_seconds)},
          {"memory_bytes", to_json(point.memory_bytes)},
          {"times", to_string(point.times)},
          {"times_remark", point.times_remark},
          {"style", to_json(style)},
          {"runs", point.runs}};
}

ordered_json to_json(const Plot& plot) {
  const PlotRange range = plot_range(plot);
  ordered_json entry = {{"name", plot.name},
                        {"title", plot.title},
                        {"x_title", plot.x_title},
                        {"y_title", plot.y_title},
                        {"logarithmic", plot.logarithmic},
                        {"x_range", {range.x_low, range.x_high}},
                        {"x_ticks", x_steps(plot, range)},
                        {"bounds", !plot.bounds.empty()},
                        {"references", !plot.references.empty()}};
  entry["series"] = ordered_json::array();
  for (const PlotSeries& series : plot.series) {
    ordered_json line = {{"name", series.name}, {"style", to_json(series.style)}, {"points", ordered_json::array()}};
    for (const PlotPoint& point : series.points) {
      line["points"].push_back(
          {{"x", point.x}, {"y", point.y.mean}, {"deviation", point.y.deviation}, {"point", point.point}});
    }
    entry["series"].push_back(std::move(line));
  }
  return entry;
}

/// Numbers that a comparison has no test for are null.
ordered_json to_json(const Finding& finding, const Summary& summary) {
  const Point &one = summary.points[finding.one], &other = summary.points[finding.other];
  ordered_json entry = {{"text", finding.text},
                        {"verdict", to_string(finding.verdict)},
                        {"one", one.name},
                        {"other", other.name},
                        {"seeds", {one.metric.count, other.metric.count}}};
  for (const char* key : {"test", "difference", "interval", "bootstrap_interval", "p", "corrected_p", "seeds_needed"}) {
    entry[key] = nullptr;
  }
  if (finding.seeds_needed) entry["seeds_needed"] = *finding.seeds_needed;
  if (!finding.test) return entry;
  const FindingTest& test = *finding.test;
  entry.update({{"test", test.permuted ? "permutation test" : to_string(test.pairing)},
                {"difference", test.t_test.difference},
                {"interval", test.permuted ? ordered_json() : to_json(test.t_test.interval)},
                {"p", test.t_test.p},
                {"corrected_p", test.corrected_p}});
  if (test.bootstrap) entry["bootstrap_interval"] = to_json(*test.bootstrap);
  return entry;
}

/// What stands beside a run when its point is looked at.
ordered_json details_of(const runner::RunResult& run, const Summary& summary) {
  ordered_json details = runner::to_json(run);
  for (const char* key : {"config", "settings", "graph", "curve"}) details.erase(key);
  for (const char* key : {"metrics", "last_metrics"}) leave_numbers(details[key]);
  for (const Point& point : summary.points) {
    const auto place = std::ranges::find(point.runs, run.name);
    if (place == point.runs.end()) continue;
    details["times"] = to_string(point.run_times[static_cast<std::size_t>(place - point.runs.begin())]);
  }
  return details;
}

/// Plots that an earlier report has left here.
void remove_other_plots(const std::filesystem::path& folder, const std::vector<Plot>& plots) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().stem().string();
    const bool is_plot = std::ranges::any_of(std::array{"quality", "speed", "memory"}, [&](const std::string& begin) {
      return name == begin || name.starts_with(begin + "_by_");
    });
    const bool is_made = std::ranges::find(plots, name, &Plot::name) != plots.end();
    if (file.path().extension() == ".svg" && is_plot && !is_made) std::filesystem::remove(file.path());
  }
}

}  // namespace

std::string to_csv(const Summary& summary) {
  std::string text = fmt::format(
      "label,pattern,degree,length,{0},{0}_deviation,seeds,edges,nodes,parameters,train_seconds,"
      "train_seconds_deviation,tokens_per_second,tokens_per_second_deviation,peak_memory_bytes,"
      "peak_memory_bytes_deviation,times,best_step,last_{0},last_{0}_deviation",
      summary.results.metric.name);
  const std::vector<runner::Metric> further = summary.further_metrics();
  for (const runner::Metric& metric : further) text += fmt::format(",{0},{0}_deviation", metric.name);
  text += "\n";
  const auto both = [](const Statistic& value) { return fmt::format("{},{}", value.mean, value.deviation); };
  for (const Point& point : summary.points) {
    const auto time = [&](const Statistic& value) { return point.times == Times::left_out ? "," : both(value); };
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_cell(point.label), csv_cell(point.pattern),
                        point.degree, point.length, both(point.metric), point.metric.count, point.num_edges,
                        point.num_nodes, point.parameters, time(point.train_seconds), time(point.tokens_per_second),
                        both(point.memory_bytes), to_string(point.times),
                        point.best_step.count > 0 ? fmt::format("{}", point.best_step.mean) : "",
                        point.last_metric.count > 0 ? both(point.last_metric) : ",");
    for (const runner::Metric& metric : further) {
      const auto score = point.further_metrics.find(metric.name);
      text += "," + (score == point.further_metrics.end() ? "," : both(score->second));
    }
    text += "\n";
  }
  return text;
}

ordered_json to_json(const Summary& summary) {
  const runner::Results& results = summary.results;
  ordered_json file = {{"name", results.name},
                       {"description", results.description},
                       {"note", results.note},
                       {"metric", to_json(results.metric)},
                       {"host", results.host},
                       {"command", results.command},
                       {"experiment", results.joined.empty() ? results.experiment : json()}};
  if (!results.joined.empty()) file["joined"] = ordered_json::array();
  for (const runner::JoinedExperiment& one : results.joined) {
    file["joined"].push_back(
        {{"name", one.name}, {"description", one.description}, {"host", one.host}, {"experiment", one.experiment}});
  }
  file["further_metrics"] = ordered_json::array();
  for (const runner::Metric& metric : summary.further_metrics()) file["further_metrics"].push_back(to_json(metric));
  file["bounds"] = ordered_json::array();
  for (const runner::Bound& bound : results.bounds) {
    file["bounds"].push_back({{"name", bound.name}, {"value", bound.value}});
  }
  file["references"] = ordered_json::array();
  for (const runner::Reference& reference : results.references) {
    file["references"].push_back(runner::to_json(reference));
    file["references"].back()["name_on_line"] = name_on_line(reference);
  }
  const std::vector<SeriesStyle> styles = point_styles(summary);
  file["points"] = ordered_json::array();
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    file["points"].push_back(to_json(summary.points[i], styles[i]));
  }
  file["kinds"] = summary.kinds();
  file["plots"] = ordered_json::array();
  for (const Plot& plot : plots_of(summary)) file["plots"].push_back(to_json(plot));
  file["findings"] = ordered_json::array();
  for (const Finding& finding : summary.findings) {
    file["findings"].push_back(to_json(finding, summary));
  }
  file["findings_left_out"] = summary.findings_left_out;
  file["comparisons_tested"] = summary.tested;
  file["findings_method"] = summary.findings_method();
  file["times_remarks"] = summary.times_remarks();
  file["runs"] = ordered_json::array();
  file["curves"] = ordered_json::array();
  for (const runner::RunResult& run : results.runs) {
    file["runs"].push_back(details_of(run, summary));
    file["curves"].push_back({{"run", run.name},
                              {"best_step", run.best_step ? ordered_json(*run.best_step) : ordered_json()},
                              {"status", bough::to_string(run.status)},
                              {"error", run.error},
                              {"points", runner::to_json(run)["curve"]}});
  }
  return file;
}

void write_report(const Summary& summary, const std::string& folder) {
  const std::filesystem::path place(folder);
  write_file(place / "summary.csv", to_csv(summary));
  write_file(place / "summary.json",
             to_json(summary).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  const std::vector<Plot> plots = plots_of(summary);
  remove_other_plots(place, plots);
  for (const Plot& plot : plots) {
    write_file(place / (plot.name + ".svg"), to_svg(plot, summary.results.name));
  }
  write_file(place / "report.html", to_html(summary));
}

}  // namespace bough::report
