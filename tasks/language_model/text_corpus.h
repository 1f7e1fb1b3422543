#pragma once

#include <string>
#include <vector>

#include "bough/core/config.h"
#include "tasks/runner/task.h"

namespace bough {

/// The three parts of a text.
struct TextSplits {
  std::string train, valid, test;
};

/// Kinds of corpora a language model can learn: a name and what can be set.
struct CorpusKind {
  std::string name, summary;
  ParameterTable parameters;
};
const std::vector<CorpusKind>& corpus_kinds();

/// Checks {"kind": ..., ...}. ConfigError with the nearest name for a kind or key that is not known.
Settings read_corpus_settings(const nlohmann::json& specification);

/// Makes or reads the text. A path is looked up in the folders. `seed` is that of the run, used by corpora that are
/// made in the program unless they have one of their own.
TextSplits load_corpus(const Settings& corpus, const std::vector<std::string>& folders, std::uint64_t seed);

/// What is known of a corpus beforehand, in bits per character.
std::vector<runner::Bound> corpus_bounds(const Settings& corpus);

}  // namespace bough
