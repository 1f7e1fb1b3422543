#pragma once

#include <cstdint>
#include <span>

#include "tasks/texts/encoded_texts.h"

namespace bough {

/// Share of the test texts that are of the class which most training texts have, from the classes of all texts. 0
/// without test texts.
double majority_accuracy(std::span<const std::int32_t> train, std::span<const std::int32_t> test, std::int64_t classes);

/// The same where the class depends on how many words the second sentence shares with the first: the most frequent one
/// among the training pairs with as many words that are missing there (up to 5) and the same share of shared words (in
/// tenths); the most frequent of all where training has no such pair. Unknown words are shared by none.
double overlap_accuracy(const EncodedTexts& train, const EncodedTexts& test, std::int64_t classes);

}  // namespace bough
