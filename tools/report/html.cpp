#include <fmt/format.h>

#include <cctype>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "tools/report/escape.h"
#include "tools/report/page_assets.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

constexpr std::int64_t picture_length = 32;

std::string rows_of(const Summary& summary) {
  std::string text;
  for (const Point& point : summary.points) {
    text += fmt::format(
        "<tr><td>{}</td><td>{:.2f}</td><td>{}</td><td>{:.4f}</td><td>{:.4f}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{:.1f}</td><td>{:.0f}</td><td>{:.1f}</td></tr>\n",
        escaped(point.label), point.degree, point.length, point.metric.mean, point.metric.deviation, point.metric.count,
        point.num_edges, point.num_nodes, point.parameters, point.train_seconds.mean, point.tokens_per_second.mean,
        point.memory_bytes.mean / 1e6);
  }
  return text;
}

std::string findings_of(const Summary& summary) {
  std::string text;
  for (const Finding& finding : summary.findings) {
    text += fmt::format("<li class=\"{}\">{}</li>\n", finding.ahead ? "ahead" : "behind", escaped(finding.text));
  }
  return text.empty() ? "<li>No two patterns have about the same degree here.</li>\n" : text;
}

std::string unfinished_of(const Summary& summary) {
  std::string text;
  for (const runner::RunResult& run : summary.results.runs) {
    if (run.status == runner::RunStatus::done) continue;
    text += fmt::format("<p><strong>{}</strong> {}</p>\n", escaped(run.name),
                        run.status == runner::RunStatus::failed ? "failed: " + escaped(run.error) : "is not finished.");
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

/// Patterns that this program does not know (a plug-in's) or that cannot be drawn are left out.
std::string pictures_of(const Summary& summary) {
  std::string text;
  std::set<std::string> drawn;
  for (const Point& point : summary.points) {
    if (!drawn.insert(point.graph.dump()).second) continue;
    try {
      const AttentionGraph graph = generators().make(point.graph)->build({.length = picture_length, .causal = true});
      text += fmt::format("<figure><img alt=\"\" src=\"{}\"><figcaption>{}</figcaption></figure>\n",
                          as_address(draw_svg(graph, {.title = point.label})), escaped(point.label));
    } catch (const Error&) {
      continue;
    }
  }
  return text;
}

/// Replaces {{name}} in one pass, so that what is put in is never looked at again.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string result;
  while (true) {
    const std::size_t open = page.find("{{");
    if (open == std::string_view::npos) return result.append(page);
    const std::size_t close = page.find("}}", open);
    result.append(page.substr(0, open));
    result += parts.find(page.substr(open + 2, close - open - 2))->second;
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string to_html(const Summary& summary) {
  const runner::Results& results = summary.results;
  std::string data = to_json(summary).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Inside a script element "<" could end it or begin another; in JSON it occurs in texts only.
  for (std::size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at)) {
    data.replace(at, 1, "\\u003c");
  }
  return filled(report_page_html,
                {{"title", escaped(results.name)},
                 {"description", escaped(results.description)},
                 {"metric", escaped(results.metric.label)},
                 {"metric_name", escaped(results.metric.name)},
                 {"direction", results.metric.lower_is_better ? "Lower is better." : "Higher is better."},
                 {"findings", findings_of(summary)},
                 {"rows", rows_of(summary)},
                 {"unfinished", unfinished_of(summary)},
                 {"pictures", pictures_of(summary)},
                 {"command", escaped(results.command)},
                 {"experiment", escaped(results.experiment.dump(2))},
                 {"host", escaped(results.host.dump(2))},
                 {"data", data},
                 {"css", std::string(report_page_css)},
                 {"chart", std::string(report_chart_js)},
                 {"js", std::string(report_page_js)}});
}

}  // namespace bough::report
