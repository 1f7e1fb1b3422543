#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// Whether this build has SentencePiece. Without it every call below throws a ConfigError that says how to get it.
bool has_sentencepiece();

/// How the SentencePiece model of a language model is trained, SentencePieceModel::train.
struct SentencePieceOptions {
  std::string kind = "bpe";  ///< "bpe" (byte-pair encoding) or "unigram"
  std::int64_t size = 8000;  ///< most pieces; 256 are single bytes and one, the unknown one, is never used
};

/// How train_sentencepiece learns a model.
struct SentencePieceTraining {
  std::string kind = "bpe";  ///< "bpe" (byte-pair encoding) or "unigram"
  std::int64_t size = 8000;  ///< pieces that the model will have, the special ones and the user's among them
  /// The share of the characters of the text that get a piece of their own; the rarest others are unknown. Less than 1
  /// for scripts of thousands of characters, 1 for alphabets.
  double character_coverage = 0.9995;
  /// What is done to a text before it is cut: "nmt_nfkc", "nfkc" (Unicode's NFKC with and without a few more rules for
  /// white space), or "identity". NFKC turns full-width characters into ordinary ones.
  std::string normalization = "nmt_nfkc";
  bool lowercase = false;                      ///< fold the case of letters, which decoding does not bring back
  bool byte_fallback = false;                  ///< 256 more pieces: unknown characters are written as their bytes
  std::vector<std::string> user_symbols = {};  ///< pieces that are never cut, numbered from 4 on in this order
  std::int64_t most_bytes = 30'000'000;        ///< of the text that are read for training, spread evenly over its lines
};

/// Numbers of the pieces that stand for no text; -1 for one that a model does not have.
struct SpecialPieces {
  std::int32_t padding = -1;  ///< <pad>
  std::int32_t unknown = -1;  ///< <unk>, for characters without a piece
  std::int32_t begin = -1;    ///< <s>, in front of a sentence
  std::int32_t end = -1;      ///< </s>, behind it
};
/// Of models by train_sentencepiece.
inline constexpr SpecialPieces trained_special_pieces = {.padding = 0, .unknown = 1, .begin = 2, .end = 3};

/// Pieces of words that were learned from a text (the library SentencePiece). Immutable, cheap to copy.
class SentencePieceModel {
 public:
  /// Learns pieces from the lines of a text, which may be any bytes. Models made here change nothing in a text: no
  /// normalisation, no space added in front, and a character without a piece is written as its bytes. The same bytes
  /// for the same text and version of the library, on every machine. Of a text of more than 10 MB it reads so many
  /// bytes, spread evenly. ConfigError with the library's reason if it cannot be done, such as too small a size for the
  /// characters of the text.
  static SentencePieceModel train(std::string_view text, const SentencePieceOptions& options);
  /// A model as bytes() gives it or as spm_train writes it. IoError naming `origin` for anything else.
  static SentencePieceModel from_bytes(std::string bytes, const std::string& origin);

  std::int64_t size() const;
  const std::string& bytes() const;
  /// Pieces of a line of UTF-8.
  std::vector<std::int32_t> encode(std::string_view line) const;
  /// The text of a line from its pieces, without what special ones stand for; a number that is no piece is an
  /// IndexError. Characters that were unknown are " ⁇ ".
  std::string decode(std::span<const std::int32_t> pieces) const;
  SpecialPieces special() const;
  /// What a piece stands for in a text: a space for each "▁", a byte for "<0x41>", nothing for "<s>" and the unknown
  /// one.
  const std::string& text_of(std::int64_t piece) const;
  /// The piece that is just this text, if there is one. One byte that is no piece of text is "<0x0A>", if the model can
  /// write single bytes.
  std::optional<std::int32_t> find(std::string_view text) const;

 private:
  struct State;
  explicit SentencePieceModel(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Learns a model from lines, of one language or, for a joint vocabulary, of several one after the other. Pieces 0 to 3
/// are <pad>, <unk>, <s> and </s>; encode() adds none of them. Blank lines are passed over. The same bytes for the same
/// lines, options and version of the library, on every machine; prints nothing. ConfigError for options that there are
/// not, and for a size that the text cannot fill or that is too small for its characters: it names the largest or
/// smallest possible one.
SentencePieceModel train_sentencepiece(std::span<const std::string> lines, const SentencePieceTraining& options);
/// The same from the lines of files, plain or gzip, which may be larger than memory: they are read twice. IoError for a
/// file that cannot be read.
SentencePieceModel train_sentencepiece_on_files(std::span<const std::string> paths,
                                                const SentencePieceTraining& options);

}  // namespace bough
