#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/runner/results.h"
#include "tools/report/statistic.h"

/// What test metrics of runs that put texts into classes hold beside numbers.
namespace bough::report {

/// How well one class is found, over the seeds.
struct ClassScores {
  std::string label;
  Statistic precision = {}, recall = {}, f1 = {};
  Statistic texts = {};  ///< of the test data that are of this class
};

/// Of one setting; what its runs do not tell, or not all alike, is empty.
struct Classification {
  std::vector<std::string> labels;                   ///< of the confusion matrix
  std::vector<std::vector<std::int64_t>> confusion;  ///< texts of true class i that were taken for j, over all seeds
  std::vector<ClassScores> classes;
  Statistic macro_f1 = {};  ///< mean of the F1 scores of all classes
  /// The task's metric with so many placeholder tokens in front of each text; the first has none.
  std::vector<Statistic> shifts;

  bool has_classes() const { return !confusion.empty() || !classes.empty(); }
  /// Texts of one class; at least 1, so that shares of an empty class are 0.
  std::int64_t texts_of(std::size_t true_class) const;
};

/// Of runs that differ in nothing but the seed. Labels and sizes that are not the same in all of them make no sum.
Classification classification_of(const std::vector<const runner::RunResult*>& runs);

}  // namespace bough::report
