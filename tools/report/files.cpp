#include "src/core/files.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "tools/report/report.h"

namespace bough::report {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Statistic& value) {
  return {{"mean", value.mean}, {"deviation", value.deviation}, {"count", value.count}};
}

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

}  // namespace

std::string to_csv(const Summary& summary) {
  std::string text = fmt::format(
      "label,pattern,degree,length,{0},{0}_deviation,seeds,edges,nodes,parameters,train_seconds,tokens_per_second,"
      "peak_memory_bytes\n",
      summary.results.metric.name);
  for (const Point& point : summary.points) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(point.label), csv_cell(point.pattern),
                        point.degree, point.length, point.metric.mean, point.metric.deviation, point.metric.count,
                        point.num_edges, point.num_nodes, point.parameters, point.train_seconds.mean,
                        point.tokens_per_second.mean, point.memory_bytes.mean);
  }
  return text;
}

ordered_json to_json(const Summary& summary) {
  const runner::Results& results = summary.results;
  ordered_json file = {{"name", results.name},
                       {"description", results.description},
                       {"note", results.note},
                       {"metric",
                        {{"name", results.metric.name},
                         {"label", results.metric.label},
                         {"lower_is_better", results.metric.lower_is_better}}},
                       {"host", results.host},
                       {"command", results.command},
                       {"experiment", results.experiment}};
  file["bounds"] = ordered_json::array();
  for (const runner::Bound& bound : results.bounds)
    file["bounds"].push_back({{"name", bound.name}, {"value", bound.value}});
  file["points"] = ordered_json::array();
  for (const Point& point : summary.points) {
    file["points"].push_back({{"label", point.label},
                              {"pattern", point.pattern},
                              {"graph", point.graph},
                              {"degree", point.degree},
                              {"length", point.length},
                              {"num_edges", point.num_edges},
                              {"num_nodes", point.num_nodes},
                              {"parameters", point.parameters},
                              {"metric", to_json(point.metric)},
                              {"tokens_per_second", to_json(point.tokens_per_second)},
                              {"train_seconds", to_json(point.train_seconds)},
                              {"memory_bytes", to_json(point.memory_bytes)},
                              {"runs", point.runs}});
  }
  file["findings"] = ordered_json::array();
  for (const Finding& finding : summary.findings) {
    file["findings"].push_back({{"text", finding.text}, {"ahead", finding.ahead}, {"clear", finding.clear}});
  }
  file["findings_left_out"] = summary.findings_left_out;
  file["curves"] = ordered_json::array();
  for (const runner::RunResult& run : results.runs) {
    ordered_json curve = {{"run", run.name}, {"status", to_string(run.status)}, {"error", run.error}};
    curve["points"] = runner::to_json(run)["curve"];
    file["curves"].push_back(std::move(curve));
  }
  return file;
}

void write_report(const Summary& summary, const std::string& folder) {
  const std::filesystem::path place(folder);
  write_file(place / "summary.csv", to_csv(summary));
  write_file(place / "summary.json",
             to_json(summary).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  for (const Plot& plot : plots_of(summary)) {
    write_file(place / (plot.name + ".svg"), to_svg(plot, summary.results.name));
  }
  write_file(place / "report.html", to_html(summary));
}

}  // namespace bough::report
