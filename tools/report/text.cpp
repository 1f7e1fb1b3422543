#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tools/report/report.h"

namespace bough::report {
namespace {

/// In plots made of characters.
char mark_of(std::size_t series) {
  constexpr std::string_view marks = "ox+*#@%&ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return marks[series % marks.size()];
}

/// A time, with a mark if it cannot be compared.
std::string time_text(const Point& point, const Statistic& value, int decimals) {
  if (point.times == Times::left_out) return "-";
  return with_deviation(value, decimals) + (point.times == Times::doubtful ? "*" : "");
}

std::string score_or_dash(const Statistic& score) { return score.count > 0 ? with_deviation(score, 4) : "-"; }

std::string further_score(const Point& point, const runner::Metric& metric) {
  const auto score = point.further_metrics.find(metric.name);
  return score == point.further_metrics.end() ? "-" : with_deviation(score->second, 4);
}

struct Row {
  std::vector<std::string> cells;
  std::string remark = {};  ///< after the last cell, as wide as it is
};

/// Columns that are as wide as their widest cell, two blanks apart: the first begins on the left, the others end on the
/// right. The first row has all columns, others may end early.
std::string aligned(const std::vector<Row>& rows) {
  const auto characters = [](const std::string& text) {  // a character of UTF-8 has one byte that is no continuation
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows.front().cells.size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], characters(row.cells[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string blanks(widths[i] - characters(row.cells[i]), ' ');
      text += i == 0 ? row.cells[i] + blanks : "  " + blanks + row.cells[i];
    }
    text += (row.remark.empty() ? "" : "  " + row.remark) + "\n";
  }
  return text;
}

/// In lines of at most this width, each after two blanks.
std::string wrapped(const std::vector<std::string>& sentences, std::size_t width) {
  std::string text, line;
  std::istringstream words(fmt::format("{}", fmt::join(sentences, " ")));
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      text += "  " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? text : text + "  " + line + "\n";
}

/// Scores with placeholder tokens in front of each text, a row for each setting that was tested so.
std::string shifts_text(const Summary& summary) {
  std::vector<Row> rows = {{.cells = {"tokens in front"}}};
  for (const Point& point : summary.points) {
    const std::vector<Statistic>& shifts = point.classification.shifts;
    if (shifts.empty()) continue;
    for (std::size_t shift = rows.front().cells.size() - 1; shift < shifts.size(); ++shift) {
      rows.front().cells.push_back(std::to_string(shift));
    }
    std::vector<std::string> cells = {point.label};
    for (const Statistic& score : shifts) cells.push_back(with_deviation(score, 4));
    rows.push_back({.cells = std::move(cells)});
  }
  if (rows.size() == 1) return "";
  return fmt::format("Mean test {} with placeholder tokens in front of each text:\n{}", summary.results.metric.name,
                     aligned(rows));
}

}  // namespace

std::string table_text(const Summary& summary) {
  const bool has_last = summary.has_last_scores();
  const std::vector<runner::Metric> further = summary.further_metrics();
  std::vector<std::string> head = {"pattern", "degree", "test " + summary.results.metric.name};
  for (const runner::Metric& metric : further) head.push_back(metric.name);
  if (has_last) head.insert(head.end(), {"at step", "last step"});
  head.insert(head.end(), {"seeds", "edges", "length", "seconds", "tokens/s", "memory MB"});
  std::vector<Row> rows = {{.cells = std::move(head)}};
  for (const Point& point : summary.points) {
    std::vector<std::string> cells = {point.label, fmt::format("{:.2f}", point.degree),
                                      with_deviation(point.metric, 4)};
    for (const runner::Metric& metric : further) cells.push_back(further_score(point, metric));
    if (has_last) {
      cells.push_back(point.best_step.count > 0 ? fmt::format("{:.0f}", point.best_step.mean) : "-");
      cells.push_back(score_or_dash(point.last_metric));
    }
    cells.insert(cells.end(), {std::to_string(point.metric.count), std::to_string(point.num_edges),
                               std::to_string(point.length), time_text(point, point.train_seconds, 1),
                               time_text(point, point.tokens_per_second, 0), with_deviation(point.megabytes(), 1)});
    rows.push_back({.cells = std::move(cells)});
  }
  for (const runner::Bound& bound : summary.results.bounds) {
    rows.push_back({.cells = {bound.name, "", fmt::format("{:.4f}", bound.value)}});
  }
  for (const runner::Reference& reference : summary.results.references) {
    rows.push_back({.cells = {reference.name, "", fmt::format("{:.4f}", reference.value)},
                    .remark = "cited, not run here" + (reference.source.empty() ? "" : ": " + reference.source)});
  }
  std::string text = aligned(rows);
  if (has_last)
    text += fmt::format("Tested are the checkpoints that were {} (at step), not the last.\n", summary.best_in_words());
  for (const runner::RunResult& run : summary.results.runs) {
    if (run.status == runner::RunStatus::failed) text += fmt::format("{} failed: {}\n", run.name, run.error);
    if (run.status == runner::RunStatus::running) text += fmt::format("{} is not finished\n", run.name);
    if (!run.remark.empty()) text += fmt::format("{}: {}\n", run.name, run.remark);
  }
  const bool has_mark =
      std::ranges::any_of(summary.points, [](const Point& point) { return point.times == Times::doubtful; });
  for (const std::string& remark : summary.times_remarks()) text += (has_mark ? "* " : "") + remark + "\n";
  text += shifts_text(summary);
  if (!summary.results.note.empty()) text += fmt::format("Note: {}\n", summary.results.note);
  return text;
}

std::string plot_text(const Summary& summary, int width, int height) {
  if (summary.points.empty()) return "";
  const Plot plot = quality_by_degree(summary);
  const PlotRange range = plot_range(plot);
  std::vector<std::string> rows(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' '));
  const auto place = [](double share, int cells) {
    return static_cast<std::size_t>(std::clamp<double>(std::lround(share * (cells - 1)), 0, cells - 1));
  };
  const auto row_of = [&](double value) { return place(1 - range.y_share(value), height); };
  for (const runner::Reference& reference : plot.references) {
    for (char& cell : rows[row_of(reference.value)]) cell = '=';
  }
  for (const runner::Bound& bound : plot.bounds) {
    for (char& cell : rows[row_of(bound.value)]) cell = '-';
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    for (const PlotPoint& point : plot.series[i].points) {
      const std::size_t column = place(range.x_share(point.x), width);
      if (point.y.count > 1) {
        const std::size_t top = row_of(point.y.mean + point.y.deviation);
        const std::size_t bottom = row_of(point.y.mean - point.y.deviation);
        for (std::size_t row = top; row <= bottom; ++row) rows[row][column] = '|';
      }
      rows[row_of(point.y.mean)][column] = mark_of(i);
    }
  }
  std::string text = fmt::format("{} (logarithmic); {} is better\n", plot.title,
                                 summary.results.metric.lower_is_better ? "lower" : "higher");
  for (int row = 0; row < height; ++row) {
    const double value = range.y_low + (range.y_high - range.y_low) * (1 - static_cast<double>(row) / (height - 1));
    text += fmt::format("{:>8.3f} |{}\n", value, rows[static_cast<std::size_t>(row)]);
  }
  text += fmt::format("{:>8} +{:->{}}\n{:>8}  {:<{}.1f}{:>{}.1f}\n", "", "", width, "", range.x_low, width / 2,
                      range.x_high, width - width / 2);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    text += fmt::format("  {} {}", mark_of(i), plot.series[i].name);
  }
  for (const runner::Bound& bound : summary.results.bounds)
    text += fmt::format("  --- {} {:.3f}", bound.name, bound.value);
  for (const runner::Reference& reference : plot.references) text += "  === " + name_on_line(reference);
  return text + "\n";
}

std::string findings_text(const Summary& summary) {
  const std::string remark = summary.findings_remark();
  if (summary.findings.empty()) return remark + "\n";
  std::string text = "At about the same degree:\n";
  for (const Finding& finding : summary.findings) text += "  " + finding.text + "\n";
  if (!remark.empty()) text += "  " + remark + "\n";
  return text + "\n" + wrapped(summary.findings_method(), 100);
}

}  // namespace bough::report
