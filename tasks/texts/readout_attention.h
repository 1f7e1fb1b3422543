#pragma once

#include <vector>

#include "bough/tasks/predict.h"
#include "tasks/texts/sequence_batch.h"
#include "tasks/texts/text_classifier.h"

namespace bough {

/// What the read-out of each sequence looks at. The batch must have kept its graph; the last stage of a layer is a
/// cross stage if `cross`. Computes the forward pass once, and the attention weights of every step beside it.
std::vector<ReadoutAttention> readout_attention(const TextClassifier& model, const SequenceBatch& batch, bool cross);

}  // namespace bough
