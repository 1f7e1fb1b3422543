#include "tasks/data/sentencepiece.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <map>
#include <utility>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::string_view space_mark = "\xe2\x96\x81";  // how pieces write a space

std::string with_spaces(std::string text) {
  for (std::size_t at = text.find(space_mark); at != std::string::npos; at = text.find(space_mark, at + 1)) {
    text.replace(at, space_mark.size(), " ");
  }
  return text;
}

}  // namespace

struct SentencePieceModel::State {
  sentencepiece::SentencePieceProcessor processor = {};
  std::string bytes = {};
  std::vector<std::string> texts = {};                           ///< by piece
  std::map<std::string, std::int32_t, std::less<>> pieces = {};  ///< of one character or byte, by text
};

bool has_sentencepiece() { return true; }

SentencePieceModel::SentencePieceModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

SentencePieceModel SentencePieceModel::from_bytes(std::string bytes, const std::string& origin) {
  auto state = std::make_shared<State>();
  const auto status = state->processor.LoadFromSerializedProto(bytes);
  if (!status.ok()) {
    throw IoError("sentencepiece", fmt::format("{} is no SentencePiece model", origin));
  }
  state->bytes = std::move(bytes);
  const auto& processor = state->processor;
  for (int piece = 0; piece < processor.GetPieceSize(); ++piece) {
    if (processor.IsByte(piece)) {
      state->texts.emplace_back(1, static_cast<char>(std::stoi(processor.IdToPiece(piece).substr(1, 4), nullptr, 16)));
    } else if (processor.IsControl(piece) || processor.IsUnknown(piece)) {
      state->texts.emplace_back();
    } else {
      state->texts.push_back(with_spaces(processor.IdToPiece(piece)));
    }
  }
  for (const bool bytes_only : {false, true}) {  // a piece of text comes before the byte
    for (int piece = 0; piece < processor.GetPieceSize(); ++piece) {
      const std::string& text = state->texts[static_cast<std::size_t>(piece)];
      if (!text.empty() && processor.IsByte(piece) == bytes_only) state->pieces.emplace(text, piece);
    }
  }
  return SentencePieceModel(std::move(state));
}

std::int64_t SentencePieceModel::size() const { return std::ssize(state_->texts); }

const std::string& SentencePieceModel::bytes() const { return state_->bytes; }

std::vector<std::int32_t> SentencePieceModel::encode(std::string_view line) const {
  std::vector<int> pieces;
  const auto status = state_->processor.Encode(line, &pieces);
  if (!status.ok()) throw ConfigError("sentencepiece", fmt::format("a line cannot be cut: {}", status.message()));
  return {pieces.begin(), pieces.end()};
}

std::string SentencePieceModel::decode(std::span<const std::int32_t> pieces) const {
  for (const std::int32_t piece : pieces) {
    if (piece < 0 || piece >= size()) {
      throw IndexError("sentencepiece", fmt::format("there are pieces 0 to {}, not {}", size() - 1, piece));
    }
  }
  std::string text;
  const auto status = state_->processor.Decode(std::vector<int>(pieces.begin(), pieces.end()), &text);
  if (!status.ok()) throw ConfigError("sentencepiece", fmt::format("pieces make no text: {}", status.message()));
  return text;
}

SpecialPieces SentencePieceModel::special() const {
  const auto& processor = state_->processor;
  return {.padding = processor.pad_id(),
          .unknown = processor.unk_id(),
          .begin = processor.bos_id(),
          .end = processor.eos_id()};
}

const std::string& SentencePieceModel::text_of(std::int64_t piece) const {
  return state_->texts.at(static_cast<std::size_t>(piece));
}

std::optional<std::int32_t> SentencePieceModel::find(std::string_view text) const {
  const auto found = state_->pieces.find(text);
  return found == state_->pieces.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace bough
