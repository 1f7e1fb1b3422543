#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// Whether this build has SentencePiece. Without it every call below throws a ConfigError that says how to get it.
bool has_sentencepiece();

/// How a SentencePiece model is trained.
struct SentencePieceOptions {
  std::string kind = "bpe";  ///< "bpe" (byte-pair encoding) or "unigram"
  std::int64_t size = 8000;  ///< most pieces; 256 are single bytes and one, the unknown one, is never used
};

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

}  // namespace bough
