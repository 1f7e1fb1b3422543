#pragma once

#include "tools/report/summary.h"

namespace bough::report {

/// Whether the focus of an experiment means this point: by its kind, its label or the name of one of its runs.
bool in_focus(const Point& point, const std::string& focus);

/// Compares points of different patterns that are near in degree and have the same length: fills in focus, findings,
/// findings_left_out and tested from points and results.
void add_findings(Summary& summary);

/// "cannot tell".
const char* to_string(Verdict verdict);
/// The name of the test: "Welch's t-test".
const char* to_string(Pairing pairing);
/// "0.003", "< 0.001".
std::string describe_p(double p);
/// A difference or the end of an interval, with as many decimals as the interval is known to.
std::string describe_difference(const TTest& test, double value);
/// "0.181 to 0.199".
std::string describe_interval(const TTest& test, const Interval& interval);
/// "about 12 seeds would tell"; empty if a finding is certain.
std::string describe_seeds_needed(const Finding& finding);

}  // namespace bough::report
