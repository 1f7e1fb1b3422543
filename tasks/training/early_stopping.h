#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace bough::training {

/// Follows the validation metric of a run: which evaluation was the best, and whether the metric has not improved for
/// too long. TrainingLoop adds each evaluation; its is_over() asks should_stop() before every step.
class EarlyStopping {
 public:
  /// Without patience it never stops.
  EarlyStopping(bool lower_is_better, std::optional<std::int64_t> patience);

  /// Notes an evaluation. True if it is strictly better than all before it; NaN never is.
  bool add(std::int64_t step, double value);
  /// Whether the last `patience` evaluations in a row were no better than the best.
  bool should_stop() const { return patience_ && evaluations_since_best_ >= *patience_; }

  /// The step of the best evaluation; nothing before the first.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  double best_value() const { return best_value_; }
  std::int64_t evaluations_since_best() const { return evaluations_since_best_; }

  /// Everything that a resumed run needs.
  nlohmann::json state() const;
  void load_state(const nlohmann::json& state);

 private:
  bool lower_is_better_;
  std::optional<std::int64_t> patience_;
  std::optional<std::int64_t> best_step_;
  double best_value_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t evaluations_since_best_ = 0;
};

}  // namespace bough::training
