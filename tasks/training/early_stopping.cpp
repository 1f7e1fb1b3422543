#include "tasks/training/early_stopping.h"

#include <nlohmann/json.hpp>

namespace bough::training {

using nlohmann::json;

EarlyStopping::EarlyStopping(bool lower_is_better, std::optional<std::int64_t> patience)
    : lower_is_better_(lower_is_better), patience_(patience) {}

bool EarlyStopping::add(std::int64_t step, double value) {
  const bool better = lower_is_better_ ? value < best_value_ : value > best_value_;
  const bool first = !best_step_ && value == value;
  if (!better && !first) {
    ++evaluations_since_best_;
    return false;
  }
  best_step_ = step;
  best_value_ = value;
  evaluations_since_best_ = 0;
  return true;
}

json EarlyStopping::state() const {
  return {{"best_step", best_step_ ? json(*best_step_) : json()},
          {"best_value", best_step_ ? json(best_value_) : json()},
          {"evaluations_since_best", evaluations_since_best_}};
}

void EarlyStopping::load_state(const json& state) {
  best_step_.reset();
  best_value_ = std::numeric_limits<double>::quiet_NaN();
  evaluations_since_best_ = state.at("evaluations_since_best");
  if (state.at("best_step").is_null()) return;
  best_step_ = state.at("best_step").get<std::int64_t>();
  best_value_ = state.at("best_value");
}

}  // namespace bough::training
