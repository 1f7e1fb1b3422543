#include "tasks/texts/class_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace bough {
namespace {

double share(double part, double all) { return all == 0 ? 0 : part / all; }

}  // namespace

ClassScores::ClassScores(std::vector<std::string> labels)
    : labels_(std::move(labels)), confusion_(labels_.size() * labels_.size()) {}

void ClassScores::add(const Tensor& scores, std::span<const std::int32_t> truth) {
  const std::vector<double> values = scores.to_vector<double>();
  const std::size_t classes = labels_.size();
  for (std::size_t text = 0; text < truth.size(); ++text) {
    const std::span row = std::span(values).subspan(text * classes, classes);
    const auto right = static_cast<std::size_t>(truth[text]);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    double total = 0;
    for (const double score : row) total += std::exp(score - row[best]);
    loss_ += std::log(total) + row[best] - row[right];
    ++count(right, best);
    right_ += best == right ? 1 : 0;
    ++texts_;
  }
}

double ClassScores::accuracy() const { return share(static_cast<double>(right_), static_cast<double>(texts_)); }

ClassScores::ClassFigures ClassScores::figures(std::size_t label) const {
  ClassFigures result;
  for (std::size_t other = 0; other < labels_.size(); ++other) {
    result.texts += confusion_[label * labels_.size() + other];
    result.predicted += confusion_[other * labels_.size() + label];
  }
  const auto right = static_cast<double>(confusion_[label * labels_.size() + label]);
  result.precision = share(right, static_cast<double>(result.predicted));
  result.recall = share(right, static_cast<double>(result.texts));
  result.f1 = share(2 * right, static_cast<double>(result.texts + result.predicted));
  return result;
}

nlohmann::json ClassScores::summary() const {
  double f1 = 0, classes = 0;
  for (std::size_t label = 0; label < labels_.size(); ++label) {
    const ClassFigures of_class = figures(label);
    if (of_class.texts + of_class.predicted == 0) continue;
    f1 += of_class.f1;
    ++classes;
  }
  return {
      {"accuracy", accuracy()}, {"macro_f1", share(f1, classes)}, {"loss", share(loss_, static_cast<double>(texts_))}};
}

nlohmann::json ClassScores::details() const {
  nlohmann::json result = summary(), confusion = nlohmann::json::array(), classes = nlohmann::json::array();
  for (std::size_t label = 0; label < labels_.size(); ++label) {
    const auto row = confusion_.begin() + static_cast<std::ptrdiff_t>(label * labels_.size());
    confusion.push_back(std::vector<std::int64_t>(row, row + std::ssize(labels_)));
    const ClassFigures of_class = figures(label);
    classes.push_back({{"label", labels_[label]},
                       {"precision", of_class.precision},
                       {"recall", of_class.recall},
                       {"f1", of_class.f1},
                       {"texts", of_class.texts}});
  }
  result["labels"] = labels_;
  result["confusion"] = std::move(confusion);
  result["classes"] = std::move(classes);
  return result;
}

}  // namespace bough
