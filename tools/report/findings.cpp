#include "tools/report/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bough/graph/graph_generator.h"
#include "tasks/runner/run_name.h"
#include "tasks/training/continuation.h"

namespace bough::report {
namespace {

using nlohmann::json;

/// Two points of Summary::points, in the order in which they are told.
using Pair = std::pair<std::size_t, std::size_t>;

bool is_better(const Point& one, const Point& other, bool lower_is_better) {
  const double difference = other.metric.mean - one.metric.mean;
  return lower_is_better ? difference > 0 : difference < 0;
}

double degree_distance(const Point& one, const Point& other) { return std::abs(std::log(other.degree / one.degree)); }

bool is_near(const Point& one, const Point& other) {
  return one.length == other.length && have_same_test_data(one, other) &&
         degree_distance(one, other) <= std::log(same_degree);
}

/// Whether the sweep has set the same; which experiment a run belongs to changes no score.
bool have_same_settings(const Point& one, const Point& other) {
  const auto without_experiment = [](json settings) {
    settings.erase("experiment");
    return settings;
  };
  if (!one.settings.contains("experiment")) return one.settings == other.settings;  // without a copy
  return without_experiment(one.settings) == without_experiment(other.settings);
}

/// Whether `other` has another kind and other settings than `one`, so that a difference could come from either, while
/// some point of its kind is near that has the same settings.
bool is_confounded(const Point& one, const Point& other, const std::vector<Point>& points) {
  if (one.kind == other.kind || have_same_settings(one, other)) return false;
  return std::ranges::any_of(points, [&](const Point& point) {
    return point.kind == other.kind && is_near(one, point) && have_same_settings(one, point);
  });
}

/// For each pattern that `candidate` lets through the point nearest to points[one] in degree, if it is near.
template <typename Candidate>
std::vector<std::size_t> nearest_of_each_pattern(std::size_t one, const std::vector<Point>& points,
                                                 const Candidate& candidate) {
  const Point& first = points[one];
  std::map<std::string, std::size_t> nearest;
  for (std::size_t other = 0; other < points.size(); ++other) {
    const Point& point = points[other];
    if (point.pattern == first.pattern || !is_near(first, point) || !candidate(point)) continue;
    if (is_confounded(first, point, points)) continue;
    const auto [best, is_first] = nearest.emplace(point.pattern, other);
    const bool is_nearer = degree_distance(first, point) < degree_distance(first, points[best->second]);
    if (!is_first && is_nearer) best->second = other;
  }
  std::vector<std::size_t> result;
  for (const auto& [pattern, other] : nearest) result.push_back(other);
  return result;
}

std::vector<Pair> pairs_with_focus(const std::vector<Point>& points, const std::string& focus) {
  std::vector<Pair> pairs;
  const auto is_other = [&](const Point& point) { return !in_focus(point, focus); };
  for (std::size_t one = 0; one < points.size(); ++one) {
    if (is_other(points[one])) continue;
    for (const std::size_t other : nearest_of_each_pattern(one, points, is_other)) pairs.emplace_back(one, other);
  }
  return pairs;
}

/// The better one first.
std::vector<Pair> all_pairs(const std::vector<Point>& points, bool lower_is_better) {
  std::set<Pair> pairs;
  for (std::size_t one = 0; one < points.size(); ++one) {
    for (const std::size_t other : nearest_of_each_pattern(one, points, [](const Point&) { return true; })) {
      pairs.insert(std::minmax(one, other));
    }
  }
  std::vector<Pair> told(pairs.begin(), pairs.end());
  for (auto& [one, other] : told) {
    if (is_better(points[other], points[one], lower_is_better)) std::swap(one, other);
  }
  return told;
}

/// The configuration by JSON pointer, without the graph and what the settings of the points tell anyway.
json rest_of_config(const Point& point, const json& told) {
  json config = runner::completed_config(point.config);  // results of earlier versions have fewer keys
  config.erase("graph");
  if (config.contains("train")) config["train"] = training::without_logging(config["train"]);
  json rest = config.flatten();
  for (const auto& [path, value] : told.items()) {
    std::string pointer = "/" + path;
    std::ranges::replace(pointer, '.', '/');
    for (auto entry = rest.begin(); entry != rest.end();) {
      const bool is_told = entry.key() == pointer || entry.key().starts_with(pointer + "/");
      entry = is_told ? rest.erase(entry) : std::next(entry);
    }
  }
  return rest;
}

/// The value of a configuration at a dotted path, in words.
std::string value_at(const Point& point, std::string path) {
  std::ranges::replace(path, '.', '/');
  const json::json_pointer pointer("/" + path);
  const json value = point.config.contains(pointer) ? point.config.at(pointer) : json();
  return value.is_null() ? "default" : value.is_string() ? value.get<std::string>() : value.dump();
}

/// Scores by seed; empty unless each run has a seed of its own.
std::map<json, double> scores_by_seed(const Point& point) {
  std::map<json, double> scores;
  for (const SeedScore& run : point.scores) {
    if (run.seed.is_null() || !scores.emplace(run.seed, run.score).second) return {};
  }
  return scores;
}

/// Scores of both, in the order of their seeds if they are paired.
struct Measured {
  std::vector<double> one, other;
  Pairing pairing = Pairing::independent;
};

/// Runs with one seed see the same data in the same order and start from the same random numbers, if nothing else
/// differs: they are paired where both points have the same seeds.
Measured measured(const Point& one, const Point& other) {
  const std::map<json, double> left = scores_by_seed(one), right = scores_by_seed(other);
  json told = one.settings;
  told.update(other.settings);
  Measured result;
  if (!left.empty() &&
      std::ranges::equal(left, right, {}, &std::pair<const json, double>::first,
                         &std::pair<const json, double>::first) &&
      rest_of_config(one, told) == rest_of_config(other, told)) {
    result.pairing = Pairing::paired;
    for (const auto& [seed, score] : left) result.one.push_back(score);
    for (const auto& [seed, score] : right) result.other.push_back(score);
    return result;
  }
  for (const SeedScore& run : one.scores) result.one.push_back(run.score);
  for (const SeedScore& run : other.scores) result.other.push_back(run.score);
  return result;
}

/// A finding on its way to a verdict.
struct Candidate {
  Finding finding;
  Measured scores;
};

/// `one` and `other` in the order in which their difference is positive where `one` is better.
TTest advantage(const Measured& scores, bool lower_is_better) {
  return lower_is_better ? t_test(scores.other, scores.one, scores.pairing)
                         : t_test(scores.one, scores.other, scores.pairing);
}

/// Of all ways to tell which measurements are whose, the share that gives a difference as large as one without any
/// scatter: both signs of all differences of pairs, or both of all orders. The least p that so few seeds can have.
double permutation_p(const Measured& scores) {
  const auto one = static_cast<double>(scores.one.size()), other = static_cast<double>(scores.other.size());
  if (scores.pairing == Pairing::paired) return std::exp2(1 - one);
  double ways = 1;
  for (double i = 1; i <= other; ++i) ways *= (one + i) / i;
  return one == other ? 2 / ways : 1 / ways;
}

/// How many seeds of each have a permutation_p below the level.
int permutations_needed(Pairing pairing, double level) {
  for (int count = least_seeds; count < most_measurements; ++count) {
    const std::vector<double> values(static_cast<std::size_t>(count));
    if (permutation_p({.one = values, .other = values, .pairing = pairing}) < level) return count;
  }
  return most_measurements + 1;
}

FindingTest test_of(const Measured& scores, bool lower_is_better) {
  FindingTest test{.pairing = scores.pairing, .t_test = advantage(scores, lower_is_better)};
  test.permuted = test.t_test.standard_error == 0 && test.t_test.difference != 0;
  if (test.permuted) test.t_test.p = permutation_p(scores);
  return test;
}

Candidate candidate_of(const Pair& pair, const std::vector<Point>& points, bool lower_is_better) {
  const Point &one = points[pair.first], &other = points[pair.second];
  Candidate result{.finding = {.one = pair.first, .other = pair.second}, .scores = measured(one, other)};
  if (std::min(one.metric.count, other.metric.count) < least_seeds) {
    result.finding.seeds_needed = least_seeds;
  } else {
    result.finding.test = test_of(result.scores, lower_is_better);
  }
  return result;
}

/// Decides all tested ones together, by Holm's method.
void decide(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> tested;
  std::vector<double> p_values;
  for (Candidate& candidate : candidates) {
    if (candidate.finding.test) tested.push_back(&candidate);
  }
  std::ranges::stable_sort(tested, {}, [](const Candidate* one) { return one->finding.test->t_test.p; });
  for (const Candidate* candidate : tested) p_values.push_back(candidate->finding.test->t_test.p);
  const std::vector<double> corrected = holm_corrected(p_values);
  // What is decided leaves its share of the level to the others.
  const auto undecided = std::ranges::count_if(corrected, [](double p) { return p >= significance_level; });
  for (std::size_t rank = 0; rank < tested.size(); ++rank) {
    Finding& finding = tested[rank]->finding;
    finding.test->corrected_p = corrected[rank];
    if (corrected[rank] < significance_level) {
      finding.verdict = finding.test->t_test.difference > 0 ? Verdict::ahead : Verdict::behind;
      continue;
    }
    const Measured& scores = tested[rank]->scores;
    const double level = significance_level / static_cast<double>(undecided);
    finding.seeds_needed =
        finding.test->permuted
            ? permutations_needed(scores.pairing, level)
            : std::max(least_seeds, measurements_needed(scores.one, scores.other, scores.pairing, level));
  }
}

std::string describe_seeds(int one, int other) {
  if (one == other) return fmt::format("{} seed{}", one, one == 1 ? "" : "s");
  return fmt::format("{} and {} seeds", one, other);
}

/// What stands in brackets after the verdict.
std::string describe_grounds(const Finding& finding, const Point& one, const Point& other, std::size_t tested) {
  const std::string seeds = describe_seeds(one.metric.count, other.metric.count);
  if (!finding.test) return fmt::format("{}; {}", seeds, describe_seeds_needed(finding));
  const FindingTest& test = *finding.test;
  const bool lost_by_correction = test.t_test.p < significance_level && finding.verdict == Verdict::cannot_tell;
  const std::string p = describe_p(test.t_test.p);
  std::string text = (p.starts_with('<') ? "p " : "p = ") + p;
  if (test.permuted) {
    text += fmt::format(" by permutation, since {} equal",
                        test.pairing == Pairing::paired ? "all differences are" : "all scores of each are");
  }
  if (lost_by_correction)
    text += fmt::format(", corrected for {} comparisons {}", tested, describe_p(test.corrected_p));
  text += fmt::format(", {}; difference {}", seeds, describe_difference(test.t_test, test.t_test.difference));
  // Without scatter there is no interval either.
  if (!test.permuted) text += ", 95% interval " + describe_interval(test.t_test, test.t_test.interval);
  if (test.bootstrap) text += fmt::format(", by bootstrap {}", describe_interval(test.t_test, *test.bootstrap));
  const std::string needed = describe_seeds_needed(finding);
  return needed.empty() ? text : text + "; " + needed;
}

/// Runs that failed may be those that would have scored worst.
std::string describe_missing(const Point& point) {
  if (point.runs_without_score == 0) return "";
  const bool one = point.runs_without_score == 1;
  return fmt::format("; without {} run{} of {} that failed", point.runs_without_score, one ? "" : "s", point.label);
}

std::string describe(const Finding& finding, const Summary& summary) {
  const Point &one = summary.points[finding.one], &other = summary.points[finding.other];
  const std::string length = summary.lengths().size() > 1 ? fmt::format("length {}: ", one.length) : "";
  return fmt::format("{}{} (degree {:.1f}): {} against {} for {} (degree {:.1f}): {} ({}{}{})", length, one.label,
                     one.degree, with_deviation(one.metric, 3), with_deviation(other.metric, 3), other.label,
                     other.degree, to_string(finding.verdict), describe_grounds(finding, one, other, summary.tested),
                     describe_missing(one), describe_missing(other));
}

/// "model.positions (relations, sinusoidal)": settings that follow from others and in which points of a finding differ.
std::string unnamed_differences(const Summary& summary) {
  std::map<std::string, std::vector<std::string>> values_of;
  for (const Finding& finding : summary.findings) {
    const Point &one = summary.points[finding.one], &other = summary.points[finding.other];
    std::set<std::string> paths(one.following.begin(), one.following.end());
    paths.insert(other.following.begin(), other.following.end());
    for (const std::string& path : paths) {
      const std::string value = value_at(one, path), other_value = value_at(other, path);
      if (value == other_value) continue;
      std::vector<std::string>& values = values_of[path];
      for (const std::string& text : {value, other_value}) {
        if (std::ranges::find(values, text) == values.end()) values.push_back(text);
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [path, values] : values_of) texts.push_back(fmt::format("{} ({})", path, fmt::join(values, ", ")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string focus_of(const Summary& summary) {
  const json& experiment = summary.results.experiment;
  const json named = experiment.is_object() ? experiment.value("focus", json("")) : json("");
  const std::string focus = named.is_string() ? named.get<std::string>() : "";
  const auto focused =
      std::ranges::count_if(summary.points, [&](const Point& point) { return in_focus(point, focus); });
  return !focus.empty() && focused > 0 && focused < std::ssize(summary.points) ? focus : "";
}

}  // namespace

bool in_focus(const Point& point, const std::string& focus) {
  const auto named = [&](const std::string& name) { return runner::begins_with_name(name, focus); };
  return point.kind == focus || named(point.label) || std::ranges::any_of(point.runs, named);
}

void add_findings(Summary& summary) {
  const bool lower_is_better = summary.results.metric.lower_is_better;
  summary.focus = focus_of(summary);
  std::vector<Candidate> all;
  for (const Pair& pair : summary.focus.empty() ? all_pairs(summary.points, lower_is_better)
                                                : pairs_with_focus(summary.points, summary.focus)) {
    all.push_back(candidate_of(pair, summary.points, lower_is_better));
  }
  decide(all);
  summary.tested = static_cast<std::size_t>(
      std::ranges::count_if(all, [](const Candidate& candidate) { return candidate.finding.test.has_value(); }));
  const auto importance = [&](const Candidate& candidate) {
    const Finding& finding = candidate.finding;
    const double difference = summary.points[finding.one].metric.mean - summary.points[finding.other].metric.mean;
    return std::pair(finding.verdict != Verdict::cannot_tell, std::abs(difference));
  };
  std::ranges::stable_sort(all, std::greater(), importance);
  if (all.size() > most_findings) {
    summary.findings_left_out = all.size() - most_findings;
    all.resize(most_findings, all.front());
  }
  // Points are sorted by length and degree.
  if (!summary.focus.empty()) {
    std::ranges::stable_sort(all, {}, [&](const Candidate& candidate) {
      return std::pair(candidate.finding.one, summary.points[candidate.finding.other].pattern);
    });
  }
  for (Candidate& candidate : all) {
    Finding& finding = summary.findings.emplace_back(std::move(candidate.finding));
    const Measured& scores = candidate.scores;
    if (finding.test && !finding.test->permuted && std::ssize(scores.one) >= least_for_bootstrap &&
        std::ssize(scores.other) >= least_for_bootstrap) {
      finding.test->bootstrap = lower_is_better ? bootstrap_interval(scores.other, scores.one, scores.pairing)
                                                : bootstrap_interval(scores.one, scores.other, scores.pairing);
    }
    finding.text = describe(finding, summary);
  }
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ahead:
      return "ahead";
    case Verdict::behind:
      return "behind";
    case Verdict::cannot_tell:
      return "cannot tell";
  }
  return "";
}

const char* to_string(Pairing pairing) { return pairing == Pairing::paired ? "paired t-test" : "Welch's t-test"; }

std::string describe_p(double p) {
  if (p < 0.001) return "< 0.001";
  std::string text = p < 0.1 ? fmt::format("{:.3f}", p) : fmt::format("{:.2f}", p);
  // What decides must not look as if it did not.
  for (int decimals = 4; p < significance_level && std::stod(text) >= significance_level && decimals < 17; ++decimals) {
    text = fmt::format("{:.{}f}", p, decimals);
  }
  return text;
}

std::string describe_difference(const TTest& test, double value) {
  const double width = test.interval.high - test.interval.low;
  const int decimals = width > 0 ? static_cast<int>(std::ceil(0.5 - std::log10(width))) : 0;
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 3, 6));
}

std::string describe_interval(const TTest& test, const Interval& interval) {
  return fmt::format("{} to {}", describe_difference(test, interval.low), describe_difference(test, interval.high));
}

std::string describe_seeds_needed(const Finding& finding) {
  if (!finding.seeds_needed) return "";
  if (!finding.test) return fmt::format("at least {} are needed", *finding.seeds_needed);
  return *finding.seeds_needed > most_measurements
             ? fmt::format("more than {} seeds would be needed", most_measurements)
             : fmt::format("about {} seeds would tell", *finding.seeds_needed);
}

std::string Summary::findings_remark() const {
  if (findings_left_out > 0) {
    return fmt::format("{} more comparison{} at about the same degree {} left out.", findings_left_out,
                       findings_left_out == 1 ? "" : "s", findings_left_out == 1 ? "is" : "are");
  }
  if (!findings.empty()) return "";
  const std::string where = std::string(lengths().size() > 1 ? " at the same length" : "") +
                            (has_one_test_set() ? "" : " and were scored on the same data");
  return focus.empty() ? fmt::format("No two patterns have about the same degree{} here.", where)
                       : fmt::format("No other pattern has about the same degree as {}{} here.", focus, where);
}

std::vector<std::string> Summary::findings_method() const {
  if (findings.empty()) return {};
  std::vector<std::string> sentences{"± is the standard deviation over seeds."};
  if (!has_one_test_set()) sentences.emplace_back("Runs that were scored on other data are not compared.");
  const std::string unnamed = unnamed_differences(*this);
  if (!unnamed.empty()) sentences.push_back(fmt::format("These patterns also differ in {}.", unnamed));
  if (tested == 0) return sentences;
  const auto uses = [&](Pairing pairing) {
    return std::ranges::any_of(findings, [&](const Finding& f) { return f.test && f.test->pairing == pairing; });
  };
  const bool paired = uses(Pairing::paired), independent = uses(Pairing::independent);
  sentences.push_back(fmt::format(
      "{}; two-sided, taking their scatter as normal.",
      paired && independent ? "Runs with the same seeds are compared by a paired t-test, others by Welch's t-test"
      : paired              ? "Runs with the same seeds are compared, by a paired t-test"
                            : "Runs are compared by Welch's t-test"));
  const std::string bound = fmt::format("Ahead or behind is said where p is below {}", significance_level);
  sentences.push_back(tested == 1 ? bound + "."
                                  : fmt::format("{} after Holm's correction for all {} comparisons that were tested; "
                                                "intervals are those of one comparison alone.",
                                                bound, tested));
  if (focus.empty() && tested > most_findings) {
    sentences.emplace_back("An experiment that names a \"focus\" makes fewer comparisons, which are corrected less.");
  }
  sentences.emplace_back("A difference is positive where the pattern named first is better.");
  const auto holds = [&](const auto& property) {
    return std::ranges::any_of(findings, [&](const Finding& f) { return f.test && property(*f.test); });
  };
  if (holds([](const FindingTest& test) { return !test.bootstrap && !test.permuted; })) {
    sentences.push_back(
        fmt::format("With fewer than {} seeds of each, resamples make an interval too narrow, so there is none by "
                    "bootstrap.",
                    least_for_bootstrap));
  }
  if (holds([](const FindingTest& test) { return test.permuted; })) {
    sentences.emplace_back(
        "Where scores do not scatter at all, a t-test would be certain of anything: p is the least that so many seeds "
        "can have by a permutation test. Such scores often come from few test cases.");
  }
  const bool open = std::ranges::any_of(findings, [](const Finding& f) { return f.test && f.seeds_needed; });
  if (open) {
    for (const char* sentence :
         {"Where it cannot be told, the patterns need not be equal: the interval has the differences that are "
          "possible.",
          "How many seeds would tell, in four of five cases, is as uncertain as the difference seen here.",
          "Choose their number before they run: adding seeds until a test tells also finds differences that are not "
          "there."}) {
      sentences.emplace_back(sentence);
    }
  }
  sentences.emplace_back(
      "The tests speak of other seeds only: with other data, sizes or learning rates patterns may come in another "
      "order.");
  return sentences;
}

}  // namespace bough::report
