#pragma once

#include "tasks/task.h"

namespace bough::tasks {

/// Texts with a class each: phrases and sentences of the Stanford Sentiment Treebank, reviews, anything with a label.
const Task& text_classification_task();

}  // namespace bough::tasks
