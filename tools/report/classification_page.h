#pragma once

#include <string>

#include "tools/report/summary.h"

/// What the page shows of texts that were put into classes.
namespace bough::report {

/// For each setting a confusion matrix and the scores of each class, to be opened; empty if no run tells of classes.
std::string classes_section(const Summary& summary);
/// Scores with placeholder tokens in front of each text; empty if no run was tested so.
std::string shifts_section(const Summary& summary);

}  // namespace bough::report
