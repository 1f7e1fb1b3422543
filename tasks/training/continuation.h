#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bough/core/config.h"

namespace bough::training {

/// "train" without the keys that change nothing of what a run computes, only how often it is logged and saved.
nlohmann::json without_logging(nlohmann::json train);

/// Whether both train for the same number of steps or epochs.
bool same_length(const nlohmann::json& train, const nlohmann::json& other);
/// "train" without steps and epochs.
nlohmann::json without_length(nlohmann::json train);

/// Why a run that has taken `steps_done` steps towards the length of `before` cannot go on to that of `now`, as the end
/// of a sentence; empty if it can, and then gives the same parameters, bit for bit, as one that was meant to be as long
/// from the start. Evaluations of the shorter run stay: the best checkpoint may be one that the longer run alone would
/// not have looked at. Both as training_parameters() describes them, equal but for steps, epochs and logging.
std::string why_length_is_fixed(const Settings& before, const Settings& now, std::int64_t steps_per_epoch,
                                std::int64_t steps_done);

}  // namespace bough::training
