#include "tools/report/classification_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/markup.h"

namespace bough::report {
namespace {

/// A table that scrolls in itself, for a reader with a keyboard too.
std::string scrolling(const std::string& label, const std::string& table) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n",
                     escape_xml(label), table);
}

std::string row_head(const std::string& name) { return fmt::format("<th scope=\"row\">{}</th>", escape_xml(name)); }
std::string column_head(const std::string& name) { return fmt::format("<th scope=\"col\">{}</th>", escape_xml(name)); }

/// A count on a shade of its share among the texts of its true class.
std::string confusion_cell(const Classification& classes, std::size_t truth, std::size_t guess) {
  const std::int64_t count = classes.confusion[truth][guess];
  const char* look = truth == guess ? " class=\"right\"" : "";
  if (count == 0) return fmt::format("<td{}>0</td>", look);
  const double share = static_cast<double>(count) / static_cast<double>(classes.texts_of(truth));
  return fmt::format("<td{} style=\"--share: {:.3f}\" title=\"{:.1f}% of {} taken for {}\">{}</td>", look, share,
                     100 * share, escape_xml(classes.labels[truth]), escape_xml(classes.labels[guess]), count);
}

std::string confusion_table(const Point& point) {
  const Classification& classes = point.classification;
  if (classes.confusion.empty()) return "";
  std::string head = column_head("true ↓, predicted →");
  for (const std::string& label : classes.labels) head += column_head(label);
  std::string rows;
  for (std::size_t truth = 0; truth < classes.labels.size(); ++truth) {
    rows += "<tr>" + row_head(classes.labels[truth]);
    for (std::size_t guess = 0; guess < classes.labels.size(); ++guess) rows += confusion_cell(classes, truth, guess);
    rows += "</tr>\n";
  }
  const std::string seeds = point.metric.count == 1 ? "one seed" : fmt::format("{} seeds", point.metric.count);
  return scrolling(
      "Confusion matrix of " + point.name,
      fmt::format(
          "<table class=\"confusion\"><caption>Texts of the test data, {}; shades are shares of a row, and framed "
          "are the texts that were put right</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>",
          seeds, head, rows));
}

std::string scores_table(const Point& point) {
  if (point.classification.classes.empty()) return "";
  std::string rows;
  for (const ClassScores& one : point.classification.classes) {
    rows += fmt::format("<tr>{}<td>{}</td><td>{}</td><td>{}</td><td>{:.0f}</td></tr>\n", row_head(one.label),
                        with_deviation(one.precision, 3), with_deviation(one.recall, 3), with_deviation(one.f1, 3),
                        one.texts.mean);
  }
  if (point.classification.macro_f1.count > 0) {
    rows += fmt::format("<tr>{}<td></td><td></td><td>{}</td><td></td></tr>\n", row_head("mean of all classes"),
                        with_deviation(point.classification.macro_f1, 3));
  }
  return scrolling(
      "Scores of each class of " + point.name,
      fmt::format("<table class=\"scores\"><thead><tr>{}{}{}{}{}</tr></thead>\n<tbody>\n{}</tbody></table>",
                  column_head("class"), column_head("precision"), column_head("recall"), column_head("F1"),
                  column_head("texts"), rows));
}

}  // namespace

std::string classes_section(const Summary& summary) {
  std::string text;
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    const Point& point = summary.points[i];
    if (!point.classification.has_classes()) continue;
    text += fmt::format(
        "<details class=\"classes\" id=\"classes-{}\"><summary>{}: {} {}</summary>\n<div class=\"class-tables\">\n{}{}"
        "</div></details>\n",
        i, escape_xml(point.name), escape_xml(summary.results.metric.name), with_deviation(point.metric, 4),
        confusion_table(point), scores_table(point));
  }
  if (text.empty()) return "";
  return "<section>\n<h2>Classes</h2>\n<p>Which classes are taken for which, and how well each is found: of the texts "
         "that "
         "were put into a class, precision is the share that belongs there; of the texts of a class, recall is the "
         "share "
         "that was found; F1 is their harmonic mean.</p>\n" +
         text + "</section>\n";
}

std::string shifts_section(const Summary& summary) {
  std::size_t most = 0;
  for (const Point& point : summary.points) most = std::max(most, point.classification.shifts.size());
  if (most == 0) return "";
  std::string head = column_head("pattern"), rows;
  for (std::size_t shift = 0; shift < most; ++shift) head += column_head(std::to_string(shift));
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    const std::vector<Statistic>& shifts = summary.points[i].classification.shifts;
    if (shifts.empty()) continue;
    rows += fmt::format("<tr><th scope=\"row\"><button data-point=\"{}\">{}</button></th>", i,
                        escape_xml(summary.points[i].name));
    for (std::size_t shift = 0; shift < most; ++shift) {
      rows += fmt::format("<td>{}</td>", shift < shifts.size() ? with_deviation(shifts[shift], 4) : "–");
    }
    rows += "</tr>\n";
  }
  const std::string table = fmt::format(
      "<table id=\"shifts\" class=\"shifts\"><thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>", head, rows);
  return fmt::format(
      "<section>\n<h2>Shifted texts</h2>\n<p>Test {} with so many placeholder tokens in front of each text. A pattern "
      "that "
      "cuts texts at fixed places then cuts them elsewhere; what it has learned should not depend on that.</p>\n"
      "{}</section>\n",
      escape_xml(summary.results.metric.name), scrolling("Scores of shifted texts", table));
}

}  // namespace bough::report
