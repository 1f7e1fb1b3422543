#include <fmt/format.h>

#include <cctype>
#include <set>

#include "bough/core/errors.h"
#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "src/core/markup.h"
#include "tools/report/page_assets.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

constexpr std::int64_t picture_length = 32;

std::string rows_of(const Summary& summary) {
  std::string text;
  for (const Point& point : summary.points) {
    text += fmt::format(
        "<tr><td>{}</td><td>{:.2f}</td><td>{}</td><td>{:.4f}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{:.1f}</td><td>{:.0f}</td><td>{:.1f}</td></tr>\n",
        escape_xml(point.label), point.degree, point.length, point.metric.mean,
        point.metric.count > 1 ? fmt::format("{:.4f}", point.metric.deviation) : "", point.metric.count,
        point.num_edges, point.num_nodes, point.parameters, point.train_seconds.mean, point.tokens_per_second.mean,
        point.memory_bytes.mean / 1e6);
  }
  return text;
}

std::string findings_of(const Summary& summary) {
  std::string text;
  for (const Finding& finding : summary.findings) {
    text += fmt::format("<li class=\"{}\">{}</li>\n", finding.ahead ? "ahead" : "behind", escape_xml(finding.text));
  }
  const std::string remark = summary.findings_remark();
  return remark.empty() ? text : text + fmt::format("<li>{}</li>\n", escape_xml(remark));
}

std::string unfinished_of(const Summary& summary) {
  std::string text;
  for (const runner::RunResult& run : summary.results.runs) {
    if (run.status == runner::RunStatus::done) continue;
    text +=
        fmt::format("<p><strong>{}</strong> {}</p>\n", escape_xml(run.name),
                    run.status == runner::RunStatus::failed ? "failed: " + escape_xml(run.error) : "is not finished.");
  }
  return text;
}

/// An image's own address, so that the styles of one picture do not reach the others.
std::string as_address(const std::string& svg) {
  std::string text = "data:image/svg+xml,";
  for (const char c : svg) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        std::isalnum(byte) != 0 || std::string_view(" -_.,:;=/()[]{}@!*'").find(c) != std::string_view::npos;
    plain ? void(text += c) : void(text += fmt::format("%{:02X}", byte));
  }
  return text;
}

/// A pattern that this program does not know (a plug-in's) as the results keep it; empty if they do not.
std::string picture_of(const Point& point, const runner::Results& results) {
  try {
    const AttentionGraph graph = generators().make(point.graph)->build({.length = picture_length, .causal = true});
    return draw_svg(graph, {.title = point.label});
  } catch (const Error&) {
    const runner::GraphPicture* picture = results.picture_of(point.graph);
    return picture == nullptr ? "" : picture->svg;
  }
}

std::string pictures_of(const Summary& summary) {
  std::string text;
  std::set<std::string> drawn;
  for (const Point& point : summary.points) {
    if (!drawn.insert(point.graph.dump()).second) continue;
    const std::string svg = picture_of(point, summary.results);
    if (svg.empty()) continue;
    text += fmt::format("<figure><img alt=\"\" src=\"{}\"><figcaption>{}</figcaption></figure>\n", as_address(svg),
                        escape_xml(point.label));
  }
  return text;
}

}  // namespace

std::string to_html(const Summary& summary) {
  const runner::Results& results = summary.results;
  return fill_page(report_page_html,
                   {{"@TITLE@", escape_xml(results.name)},
                    {"@DESCRIPTION@", escape_xml(results.description)},
                    {"@NOTE@", results.note.empty() ? "" : fmt::format("<p>Note: {}</p>", escape_xml(results.note))},
                    {"@METRIC@", escape_xml(results.metric.label)},
                    {"@METRIC_NAME@", escape_xml(results.metric.name)},
                    {"@DIRECTION@", results.metric.lower_is_better ? "Lower is better." : "Higher is better."},
                    {"@FINDINGS@", findings_of(summary)},
                    {"@ROWS@", rows_of(summary)},
                    {"@UNFINISHED@", unfinished_of(summary)},
                    {"@PICTURES@", pictures_of(summary)},
                    {"@COMMAND@", escape_xml(results.command)},
                    {"@EXPERIMENT@", escape_xml(results.experiment.dump(2))},
                    {"@HOST@", escape_xml(results.host.dump(2))},
                    {"@DATA@", json_for_script(to_json(summary))},
                    {"@CSS@", std::string(report_page_css)},
                    {"@CHART@", std::string(report_chart_js)},
                    {"@JS@", std::string(report_page_js)}});
}

}  // namespace bough::report
