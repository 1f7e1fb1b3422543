#include "tasks/data/hexadecimal.h"

#include <string_view>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string to_hexadecimal(const std::string& bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::string from_hexadecimal(const std::string& text) {
  const auto digit = [](char c) {
    const auto place = digits.find(c);
    if (place == digits.npos) throw IoError("checkpoint", "the vocabulary is not hexadecimal");
    return static_cast<int>(place);
  };
  if (text.size() % 2 != 0) throw IoError("checkpoint", "the vocabulary is not hexadecimal");
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(16 * digit(text[i]) + digit(text[i + 1]));
  }
  return bytes;
}

}  // namespace bough
