#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bough/tasks/predict.h"

namespace bough::cli {

/// One page without any outside resource that shows what a classifier looked at in each text.
class PredictPage {
 public:
  /// `run` names the model in the title.
  PredictPage(const TrainedTextClassifier& classifier, std::string run);

  /// Explains a text and adds it, unless the page has as much as a browser can show well.
  void add(const UnlabelledText& text);
  /// Texts that were not added for that reason.
  std::int64_t left_out() const { return left_out_; }

  std::string html() const;

 private:
  const TrainedTextClassifier& classifier_;
  std::string run_;
  nlohmann::json texts_ = nlohmann::json::array(), steps_ = nlohmann::json::array();
  std::int64_t numbers_ = 0, left_out_ = 0;
};

}  // namespace bough::cli
