#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// Counts what a classifier gets right.
class ClassScores {
 public:
  /// `labels`: names of the classes.
  explicit ClassScores(std::vector<std::string> labels);

  /// scores [texts, classes] of any float type, with the true class of each text. The class with the highest score is
  /// predicted, the first of equal ones.
  void add(const Tensor& scores, std::span<const std::int32_t> truth);

  std::int64_t num_texts() const { return texts_; }
  double accuracy() const;
  /// {"accuracy", "macro_f1", "loss"}: share of texts judged right, mean of the classes' F1 over those that occur or
  /// were predicted, mean cross entropy in nats.
  nlohmann::json summary() const;
  /// The summary with {"labels": names, "confusion": [[texts of class i judged as j]], "classes": [{"label",
  /// "precision", "recall", "f1", "texts"}]}. What has nothing to divide by is 0.
  nlohmann::json details() const;

 private:
  struct ClassFigures {
    double precision = 0, recall = 0, f1 = 0;
    std::int64_t texts = 0, predicted = 0;
  };
  ClassFigures figures(std::size_t label) const;
  std::int64_t& count(std::size_t truth, std::size_t predicted) {
    return confusion_[truth * labels_.size() + predicted];
  }

  std::vector<std::string> labels_;
  std::vector<std::int64_t> confusion_;  ///< [true class, predicted class]
  std::int64_t texts_ = 0, right_ = 0;
  double loss_ = 0;
};

}  // namespace bough
