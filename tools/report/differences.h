#pragma once

#include "tasks/runner/results.h"

namespace bough::report {

/// Makes visible what is not the same in all runs beside graph, seed and what their sweeps set: such values are added
/// to the settings of the runs, which labels show, and a sentence that names them to the note. How often was logged and
/// saved does not count. Different commits of bough, compilers and versions of libraries are named in the note alone.
void mark_differences(runner::Results& results);

}  // namespace bough::report
