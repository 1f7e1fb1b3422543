#pragma once

#include <cstdint>
#include <string>

namespace bough {

/// A made-up text whose next word depends on words far back: a document has a cast of 12 words out of 26, and a word
/// may come again only after 8 others have. The nearest words therefore only say who is not next; the four who may come
/// appeared nine or more words (46 characters and more) ago.
///
/// At least `characters` long (the last document is kept whole). The same bytes on every machine for the same seed.
std::string turn_taking_text(std::int64_t characters, std::uint64_t seed);

/// Known bounds of this text in bits per character: for a model that ignores all context beyond the current word, and
/// for one that knows the rule.
inline constexpr double turn_taking_blind_bits = 0.926;
inline constexpr double turn_taking_ideal_bits = 0.425;

/// The bytes of a file, unpacked if it is gzip (told by its content, not its name). IoError if it cannot be read, is
/// damaged, or would be larger than limit.
std::string read_text(const std::string& path, std::int64_t limit = std::int64_t{16} << 30);

}  // namespace bough
