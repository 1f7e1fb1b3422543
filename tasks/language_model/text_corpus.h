#pragma once

#include <string>
#include <vector>

#include "bough/core/config.h"
#include "tasks/task.h"

namespace bough {

/// The three parts of a text.
struct TextSplits {
  std::string train, valid, test;
};

/// Kinds of corpora that a language model can learn.
const std::vector<tasks::ObjectKind>& corpus_kinds();

/// Checks {"kind": ..., ...}. ConfigError with the nearest name for a kind or key that is not known.
Settings read_corpus_settings(const nlohmann::json& specification);

/// Makes or reads the text. A path is looked up in the folders. `seed` is that of the run, used by corpora that are
/// made in the program unless they have one of their own.
TextSplits load_corpus(const Settings& corpus, const std::vector<std::string>& folders, std::uint64_t seed);

/// What is known of a corpus beforehand, in bits per character.
std::vector<tasks::Bound> corpus_bounds(const Settings& corpus);

}  // namespace bough
