#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <set>

#include "bough/core/errors.h"
#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "src/core/markup.h"
#include "tools/report/classification_page.h"
#include "tools/report/findings.h"
#include "tools/report/page_assets.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

/// A time, with a mark if it cannot be compared.
std::string time_cell(const Point& point, const Statistic& value, int decimals) {
  if (point.times == Times::left_out) return "<td>–</td>";
  if (point.times == Times::comparable) return fmt::format("<td>{}</td>", with_deviation(value, decimals));
  return fmt::format("<td class=\"doubtful\" title=\"{}\">{}&nbsp;*</td>", escape_xml(point.times_remark),
                     with_deviation(value, decimals));
}

std::string cell(const std::string& text) { return fmt::format("<td>{}</td>", escape_xml(text)); }

/// The tested score; below it the step of its checkpoint and the score after the last step, where that is another.
std::string score_cell(const Point& point, bool has_last) {
  const std::string score = with_deviation(point.metric, 4);
  if (!has_last || point.last_metric.count == 0) return cell(score);
  const std::string step = point.best_step.count > 0 ? fmt::format("step {:.0f}, ", point.best_step.mean) : "";
  return fmt::format("<td>{}<small>{}last {}</small></td>", score, step, with_deviation(point.last_metric, 4));
}

std::string further_cell(const Point& point, const runner::Metric& metric) {
  const auto score = point.further_metrics.find(metric.name);
  return cell(score == point.further_metrics.end() ? "–" : with_deviation(score->second, 4));
}

/// The table of all settings. The first cell of a row is a button that shows all of one.
std::string table_of(const Summary& summary) {
  const bool has_last = summary.has_last_scores();
  const std::vector<runner::Metric> further = summary.further_metrics();
  std::string further_heads;
  for (const runner::Metric& metric : further) further_heads += fmt::format("<th>{}</th>", escape_xml(metric.label));
  std::string text = fmt::format(
      "<thead><tr><th>pattern</th><th>degree</th><th>length</th><th>test {}{}</th>{}<th>seeds</th><th>edges</th>"
      "<th>nodes</th><th>parameters</th><th>seconds</th><th>tokens/s</th><th>memory MB</th></tr></thead>\n<tbody>\n",
      escape_xml(summary.results.metric.name), has_last ? "<small>best step, last score</small>" : "", further_heads);
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    const Point& point = summary.points[i];
    std::string further_cells;
    for (const runner::Metric& metric : further) further_cells += further_cell(point, metric);
    text += fmt::format(
        "<tr><td><button data-point=\"{}\">{}</button></td><td>{:.2f}</td><td>{}</td>{}{}<td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td>{}{}<td>{}</td></tr>\n",
        i, escape_xml(point.label), point.degree, point.length, score_cell(point, has_last), further_cells,
        point.metric.count, point.num_edges, point.num_nodes, point.parameters,
        time_cell(point, point.train_seconds, 1), time_cell(point, point.tokens_per_second, 0),
        with_deviation(point.megabytes(), 1));
  }
  return text + "</tbody>";
}

/// Values of the metric that no run has measured.
std::string cited_of(const runner::Results& results) {
  if (results.references.empty()) return "";
  std::string rows;
  const auto add = [&rows](const std::string& name, double value, const char* what, const std::string& source) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{:.4f}</td><td>{}</td><td>{}</td></tr>\n", escape_xml(name),
                        value, what, escape_xml(source));
  };
  for (const runner::Reference& reference : results.references) {
    add(reference.name, reference.value, "published figure, cited", reference.source);
  }
  for (const runner::Bound& bound : results.bounds) add(bound.name, bound.value, "known bound", "");
  return fmt::format(
      "<h3>Not measured here</h3>\n<p>Published figures are cited for comparison; these systems have not been run "
      "here, "
      "and their data, sizes and training may differ. No finding is about them.</p>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Values that were not measured here\">\n"
      "<table id=\"cited\" class=\"cited\"><thead><tr><th>name</th><th>{}</th><th>what it is</th><th>source</th></tr>"
      "</thead>\n<tbody>\n{}</tbody></table></div>\n",
      escape_xml(results.metric.name), rows);
}

std::string lines_in_words(const runner::Results& results) {
  std::string text = results.bounds.empty() ? "" : "Dashed grey: known bounds. ";
  if (!results.references.empty()) {
    text +=
        "Lines of dashes and dots with a name on them: published figures of other systems, cited, not measured here.";
  }
  return text;
}

/// A pattern as tables of findings name it: a button that shows all of it, and its degree.
std::string pattern_cell(const Summary& summary, std::size_t index) {
  const Point& point = summary.points[index];
  return fmt::format("<td class=\"name\"><button data-point=\"{}\">{}</button><small>degree {:.1f}</small></td>", index,
                     escape_xml(point.name), point.degree);
}

/// A sign beside each word: colour alone tells nothing to readers who cannot see it.
std::string verdict_cell(const Finding& finding) {
  const char* sign = finding.verdict == Verdict::ahead ? "▲" : finding.verdict == Verdict::behind ? "▼" : "?";
  const char* look = finding.verdict == Verdict::ahead    ? "ahead"
                     : finding.verdict == Verdict::behind ? "behind"
                                                          : "open";
  const std::string needed = describe_seeds_needed(finding);
  return fmt::format("<td class=\"verdict\"><span class=\"{}\"><span aria-hidden=\"true\">{}</span> {}</span>{}</td>",
                     look, sign, to_string(finding.verdict),
                     needed.empty() ? "" : fmt::format("<small>{}</small>", escape_xml(needed)));
}

/// Difference with its interval, that of resamples if any finding has one, p, corrected p.
std::string test_cells(const Finding& finding, bool has_bootstrap) {
  if (!finding.test)
    return has_bootstrap ? "<td>–</td><td>–</td><td>–</td><td>–</td>" : "<td>–</td><td>–</td><td>–</td>";
  const FindingTest& test = *finding.test;
  const TTest& t_test = test.t_test;
  std::string text =
      fmt::format("<td class=\"name\">{}<small>{}</small></td>", describe_difference(t_test, t_test.difference),
                  test.permuted ? "–" : describe_interval(t_test, t_test.interval));
  if (has_bootstrap) text += cell(test.bootstrap ? describe_interval(t_test, *test.bootstrap) : "–");
  return text + cell(describe_p(t_test.p)) + cell(describe_p(test.corrected_p));
}

std::string findings_of(const Summary& summary) {
  const std::string remark = summary.findings_remark();
  std::string last = remark.empty() ? "" : fmt::format("<p>{}</p>\n", escape_xml(remark));
  if (summary.findings.empty()) return last;
  const bool has_bootstrap = std::ranges::any_of(
      summary.findings, [](const Finding& finding) { return finding.test && finding.test->bootstrap; });
  std::string rows;
  for (const Finding& finding : summary.findings) {
    const Point &one = summary.points[finding.one], &other = summary.points[finding.other];
    const std::string seeds = one.metric.count == other.metric.count
                                  ? std::to_string(one.metric.count)
                                  : fmt::format("{} and {}", one.metric.count, other.metric.count);
    rows += fmt::format("<tr title=\"{}\">{}{}{}{}{}{}{}</tr>\n", escape_xml(finding.text),
                        pattern_cell(summary, finding.one), verdict_cell(finding), cell(with_deviation(one.metric, 3)),
                        pattern_cell(summary, finding.other), cell(with_deviation(other.metric, 3)),
                        test_cells(finding, has_bootstrap), cell(seeds));
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Comparisons at about the same degree\">\n"
      "<table id=\"findings\" "
      "class=\"findings\"><thead><tr><th>pattern</th><th>is</th><th>score</th><th>against</th><th>score</th>"
      "<th>difference<small>95% interval</small></th>{}<th>p</th><th>p, corrected</th><th>seeds</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n{}<p class=\"method\">{}</p>\n",
      has_bootstrap ? "<th>by bootstrap</th>" : "", rows, last,
      escape_xml(fmt::format("{}", fmt::join(summary.findings_method(), " "))));
}

/// Names and values; lists and objects in rows of their own.
std::string machine_rows(const nlohmann::json& machine, const std::string& prefix = "") {
  std::string text;
  for (const auto& [key, value] : machine.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      text += machine_rows(value, name + " ");
    } else {
      const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
      text += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape_xml(name), escape_xml(shown));
    }
  }
  return text;
}

std::string paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", escape_xml(text)); }

std::string folded(const std::string& title, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", escape_xml(title), content);
}

/// Of a comparison what each experiment says of itself.
std::string descriptions_of(const runner::Results& results) {
  if (results.joined.empty()) return paragraph(results.description);
  std::string text;
  for (const runner::JoinedExperiment& one : results.joined) {
    const std::string description = one.description.empty() ? "" : ": " + one.description;
    text += fmt::format("<p><strong>{}</strong>{}</p>\n", escape_xml(one.name), escape_xml(description));
  }
  return text;
}

std::string configurations_of(const runner::Results& results) {
  const auto content = [](const nlohmann::json& experiment) {
    return fmt::format("<pre>{}</pre>", escape_xml(experiment.dump(2)));
  };
  if (results.joined.empty()) return folded("Configuration", content(results.experiment));
  std::string text;
  for (const runner::JoinedExperiment& one : results.joined) {
    text += folded("Configuration of " + one.name, content(one.experiment));
  }
  return text;
}

/// A machine on which several experiments ran is there once.
std::string hosts_of(const runner::Results& results) {
  const auto content = [](const nlohmann::json& host) {
    return fmt::format("<table class=\"facts\">\n{}</table>", host.is_object() ? machine_rows(host) : "");
  };
  if (results.joined.empty()) return folded("Machine", content(results.host));
  struct Host {
    nlohmann::json description;
    std::vector<std::string> experiments = {};
  };
  std::vector<Host> hosts;
  for (const runner::JoinedExperiment& one : results.joined) {
    auto same = std::ranges::find(hosts, one.host, &Host::description);
    if (same == hosts.end()) same = hosts.insert(same, Host{.description = one.host});
    same->experiments.push_back(one.name);
  }
  std::string text;
  for (const Host& host : hosts) {
    text += folded(fmt::format("Machine of {}", fmt::join(host.experiments, " and ")), content(host.description));
  }
  return text;
}

std::string unfinished_of(const Summary& summary) {
  std::string text;
  for (const runner::RunResult& run : summary.results.runs) {
    if (!run.remark.empty()) {
      text += fmt::format("<p><strong>{}</strong>: {}.</p>\n", escape_xml(run.name), escape_xml(run.remark));
    }
    if (run.status == runner::RunStatus::done) continue;
    text +=
        fmt::format("<p><strong>{}</strong> {}</p>\n", escape_xml(run.name),
                    run.status == runner::RunStatus::failed ? "failed: " + escape_xml(run.error) : "is not finished.");
  }
  return text;
}

std::string times_of(const Summary& summary) {
  std::string text;
  for (const std::string& remark : summary.times_remarks()) text += fmt::format("<p>* {}</p>\n", escape_xml(remark));
  return text;
}

std::string with_capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string canvas(const std::string& id, const std::string& title) {
  return fmt::format(
      "<div class=\"plot\"><canvas id=\"{0}\" tabindex=\"0\" role=\"img\" aria-label=\"{1}\"></canvas></div>"
      "<p class=\"spoken\" id=\"{0}-spoken\" aria-live=\"polite\"></p>",
      escape_xml(id), escape_xml(title));
}

/// All plots but the first, which the page begins with.
std::string plots_part(const Summary& summary) {
  std::string text;
  const std::vector<Plot> plots = plots_of(summary);
  for (std::size_t i = 1; i < plots.size(); ++i) {
    const std::size_t left_out = plots[i].points_left_out;
    const std::string remark = left_out == 0
                                   ? ""
                                   : fmt::format("<p>Without {} setting{} whose times cannot be compared.</p>",
                                                 left_out, left_out == 1 ? "" : "s");
    text += fmt::format("<div><h2>{}</h2>{}{}</div>\n", escape_xml(with_capital(plots[i].title)),
                        canvas(plots[i].name, plots[i].title), remark);
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

/// Tokens in a picture: a few times what a token attends to, or windows and wide strides look the same.
std::int64_t picture_length(const Summary& summary) {
  double largest = 16;
  std::int64_t longest = 1;
  for (const Point& point : summary.points) {
    longest = std::max(longest, point.length);
    // Full attention looks the same at any length.
    if (point.degree < 0.2 * static_cast<double>(point.length)) largest = std::max(largest, point.degree);
  }
  const auto wanted = std::bit_ceil(static_cast<std::uint64_t>(3 * largest));
  return std::min({static_cast<std::int64_t>(wanted), longest, std::int64_t{256}});
}

/// A pattern that this program does not know (a plug-in's) as the results keep it; empty if they do not.
std::string picture_of(const Point& point, std::int64_t length, const runner::Results& results) {
  try {
    const AttentionGraph graph = generators().make(point.graph)->build({.length = length, .causal = true});
    return draw_matrix_svg(graph, {.title = point.label});
  } catch (const Error&) {
    const runner::GraphPicture* picture = results.picture_of(point.graph);
    return picture == nullptr ? "" : picture->svg;
  }
}

std::string pictures_of(const Summary& summary) {
  std::string text;
  std::set<std::string> drawn;
  const std::int64_t length = picture_length(summary);
  for (const std::string& kind : summary.kinds()) {
    for (const Point& point : summary.points) {
      if (point.kind != kind || !drawn.insert(point.graph.dump()).second) continue;
      const std::string svg = picture_of(point, length, summary.results);
      if (svg.empty()) continue;
      text += fmt::format(
          "<figure><img alt=\"Attention matrix of {0}\" src=\"{1}\"><figcaption>{0}</figcaption></figure>\n",
          escape_xml(point.label), as_address(svg));
    }
  }
  return text;
}

}  // namespace

std::string to_html(const Summary& summary) {
  const runner::Results& results = summary.results;
  const std::string quality_title = results.metric.label + " against attention degree";
  return fill_page(report_page_html,
                   {{"@TITLE@", escape_xml(results.name)},
                    {"@DESCRIPTIONS@", descriptions_of(results)},
                    {"@NOTE@", results.note.empty() ? "" : fmt::format("<p>Note: {}</p>", escape_xml(results.note))},
                    {"@QUALITY_TITLE@", escape_xml(with_capital(quality_title))},
                    {"@QUALITY@", canvas("quality", quality_title + "; the numbers are in the table below")},
                    {"@BOUNDS@", lines_in_words(results)},
                    {"@BEST@", escape_xml(summary.best_in_words())},
                    {"@DIRECTION@", results.metric.lower_is_better ? "Lower is better." : "Higher is better."},
                    {"@FINDINGS@", findings_of(summary)},
                    {"@TABLE@", table_of(summary)},
                    {"@CITED@", cited_of(results)},
                    {"@TIMES@", times_of(summary)},
                    {"@UNFINISHED@", unfinished_of(summary)},
                    {"@CLASSES@", classes_section(summary)},
                    {"@SHIFTS@", shifts_section(summary)},
                    {"@CURVES@", canvas("curves", "validation scores during training")},
                    {"@LOSSES@", canvas("losses", "training loss")},
                    {"@POINT_CURVES@", canvas("point-curves", "validation scores of these runs during training")},
                    {"@POINT_LOSSES@", canvas("point-losses", "training loss of these runs")},
                    {"@PLOTS@", plots_part(summary)},
                    {"@LENGTH@", std::to_string(picture_length(summary))},
                    {"@PICTURES@", pictures_of(summary)},
                    {"@COMMAND@", escape_xml(results.command)},
                    {"@CONFIGURATIONS@", configurations_of(results)},
                    {"@HOSTS@", hosts_of(results)},
                    {"@DATA@", json_for_script(to_json(summary))},
                    {"@CSS@", std::string(report_page_css)},
                    {"@CHART@", std::string(report_chart_js)},
                    {"@JS@", std::string(report_page_js)}});
}

}  // namespace bough::report
