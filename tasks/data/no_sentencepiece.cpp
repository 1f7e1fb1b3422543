#include "bough/core/errors.h"
#include "tasks/data/sentencepiece.h"

/// Stands for sentencepiece.cpp and sentencepiece_training.cpp in builds without the library.
namespace bough {
namespace {

[[noreturn]] void refuse() {
  throw ConfigError("sentencepiece",
                    "this build has no SentencePiece; on Debian and Ubuntu: apt-get install libsentencepiece-dev "
                    "(tools/setup does it), then configure and build anew");
}

}  // namespace

struct SentencePieceModel::State {};

bool has_sentencepiece() { return false; }
SentencePieceModel::SentencePieceModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
SentencePieceModel SentencePieceModel::train(std::string_view, const SentencePieceOptions&) { refuse(); }
SentencePieceModel SentencePieceModel::from_bytes(std::string, const std::string&) { refuse(); }
std::int64_t SentencePieceModel::size() const { refuse(); }
const std::string& SentencePieceModel::bytes() const { refuse(); }
std::vector<std::int32_t> SentencePieceModel::encode(std::string_view) const { refuse(); }
std::string SentencePieceModel::decode(std::span<const std::int32_t>) const { refuse(); }
SpecialPieces SentencePieceModel::special() const { refuse(); }
const std::string& SentencePieceModel::text_of(std::int64_t) const { refuse(); }
std::optional<std::int32_t> SentencePieceModel::find(std::string_view) const { refuse(); }
SentencePieceModel train_sentencepiece(std::span<const std::string>, const SentencePieceTraining&) { refuse(); }
SentencePieceModel train_sentencepiece_on_files(std::span<const std::string>, const SentencePieceTraining&) {
  refuse();
}

}  // namespace bough
