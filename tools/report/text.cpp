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
  return fmt::format("{:.{}f}{}", value.mean, decimals, point.times == Times::doubtful ? "*" : "");
}

/// The mean of the best steps and of the scores after the last, in two columns.
std::string last_text(const Point& point) {
  const auto cell = [](const Statistic& value, int decimals) {
    return value.count > 0 ? fmt::format("{:>9.{}f}  ", value.mean, decimals) : fmt::format("{:>9}  ", "-");
  };
  return cell(point.best_step, 0) + cell(point.last_metric, 4);
}

std::string f1_text(const Point& point) {
  return fmt::format("{:>17}  ", point.macro_f1.count > 0 ? with_deviation(point.macro_f1, 4) : "-");
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

/// Mean scores with placeholder tokens in front of each text, a row for each setting that was tested so.
std::string shifts_text(const Summary& summary, std::size_t width) {
  std::size_t most = 0;
  std::string rows;
  for (const Point& point : summary.points) {
    const std::vector<Statistic>& shifts = point.classification.shifts;
    if (shifts.empty()) continue;
    most = std::max(most, shifts.size());
    rows += fmt::format("{:<{}}", point.label, width);
    for (const Statistic& score : shifts) rows += fmt::format("  {:>6.4f}", score.mean);
    rows += "\n";
  }
  if (rows.empty()) return "";
  std::string head = fmt::format("{:<{}}", "tokens in front", width);
  for (std::size_t shift = 0; shift < most; ++shift) head += fmt::format("  {:>6}", shift);
  return fmt::format("Mean test {} with placeholder tokens in front of each text:\n{}\n{}", summary.results.metric.name,
                     head, rows);
}

}  // namespace

std::string table_text(const Summary& summary) {
  std::size_t width = 7;
  for (const Point& point : summary.points) width = std::max(width, point.label.size());
  for (const runner::Reference& reference : summary.results.references) width = std::max(width, reference.name.size());
  const bool has_last = summary.has_last_scores(), has_f1 = summary.has_macro_f1();
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>17}  {}{}{:>6}  {:>9}  {:>9}  {:>9}  {:>9}  {:>10}\n", "pattern", width, "degree",
                  "test " + summary.results.metric.name, has_f1 ? fmt::format("{:>17}  ", "macro_f1") : "",
                  has_last ? fmt::format("{:>9}  {:>9}  ", "at step", "last step") : "", "seeds", "edges", "length",
                  "seconds", "tokens/s", "memory MB");
  for (const Point& point : summary.points) {
    text += fmt::format("{:<{}}  {:>8.2f}  {:>17}  {}{}{:>6}  {:>9}  {:>9}  {:>9}  {:>9}  {:>10.1f}\n", point.label,
                        width, point.degree, with_deviation(point.metric, 4), has_f1 ? f1_text(point) : "",
                        has_last ? last_text(point) : "", point.metric.count, point.num_edges, point.length,
                        time_text(point, point.train_seconds, 1), time_text(point, point.tokens_per_second, 0),
                        point.memory_bytes.mean / 1e6);
  }
  for (const runner::Bound& bound : summary.results.bounds) {
    text += fmt::format("{:<{}}  {:>8}  {:>17.4f}\n", bound.name, width, "", bound.value);
  }
  for (const runner::Reference& reference : summary.results.references) {
    text += fmt::format("{:<{}}  {:>8}  {:>17.4f}  cited, not run here{}\n", reference.name, width, "", reference.value,
                        reference.source.empty() ? "" : ": " + reference.source);
  }
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
  text += shifts_text(summary, std::max<std::size_t>(width, 15));
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
