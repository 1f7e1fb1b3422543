#pragma once

#include <string>

/// Any bytes as text, two digits each: what notes of checkpoints can hold.
namespace bough {

std::string to_hexadecimal(const std::string& bytes);
/// IoError for anything that to_hexadecimal does not write.
std::string from_hexadecimal(const std::string& text);

}  // namespace bough
