#include "tasks/data/word_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "tasks/data/line_reader.h"

namespace bough {
namespace {

/// Where the last space before `end` is; npos if it is none or the first character.
std::size_t space_before(std::string_view line, std::size_t end) {
  const std::size_t space = end == 0 ? std::string_view::npos : line.rfind(' ', end - 1);
  return space == 0 ? std::string_view::npos : space;
}

bool read_number(std::string_view text, float& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

/// How many numbers a line ends in, behind a word.
std::int64_t count_numbers(std::string_view line) {
  std::int64_t count = 0;
  float number = 0;
  for (std::size_t end = line.size(), space = space_before(line, end); space != std::string_view::npos;
       end = space, space = space_before(line, end)) {
    if (!read_number(line.substr(space + 1, end - space - 1), number)) break;
    ++count;
  }
  return count;
}

/// What stands before the last `width` fields; empty if there is nothing.
std::string_view word_of(std::string_view line, std::int64_t width) {
  std::size_t end = line.size();
  for (std::int64_t i = 0; i < width; ++i) {
    end = space_before(line, end);
    if (end == std::string_view::npos) return {};
  }
  return line.substr(0, end);
}

/// The fields of a text, as many as wanted.
std::vector<float> numbers_of(std::string_view fields, std::int64_t width) {
  std::vector<float> numbers(static_cast<std::size_t>(width));
  for (float& number : numbers) {
    const std::string_view field = fields.substr(0, fields.find(' '));
    if (!read_number(field, number)) {
      throw ConfigError("word vectors", fmt::format("'{}' is not a number", field.substr(0, 40)));
    }
    fields.remove_prefix(std::min(field.size() + 1, fields.size()));
  }
  return numbers;
}

bool is_head(std::string_view line) {
  return std::ranges::count(line, ' ') == 1 && line.find_first_not_of("0123456789 ") == std::string_view::npos;
}

/// FNV-1a: the same on every machine.
std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

struct Moments {
  double mean = 0, deviation = 0.1;
};

void fill_normal(std::span<float> row, RandomStream random, Moments moments) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto numbers = random.block(i);
    const double u = 1 - uniform_float(numbers[0]), angle = 2 * std::numbers::pi * uniform_float(numbers[1]);
    row[i] = static_cast<float>(moments.mean + moments.deviation * std::sqrt(-2 * std::log(u)) * std::cos(angle));
  }
}

/// Over all numbers of the rows that were found.
Moments moments_of(std::span<const float> rows, std::int64_t width, const std::vector<bool>& found) {
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!found[i / static_cast<std::size_t>(width)]) continue;
    sum += rows[i];
    squares += static_cast<double>(rows[i]) * rows[i];
    ++count;
  }
  if (count < 2) return {};
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

std::span<float> row_of(std::vector<float>& rows, std::size_t row, std::int64_t width) {
  return std::span(rows).subspan(row * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
}

}  // namespace

WordVectors read_word_vectors(const std::string& path, std::span<const std::string> words, std::uint64_t seed,
                              bool skip_bad) {
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < words.size(); ++i) place.emplace(words[i], i);

  WordVectors result{.found = std::vector<bool>(words.size())};
  std::vector<float> rows, numbers;
  std::int64_t lines = 0, width = 0;
  result.skipped = parse_lines(path, skip_bad, [&](std::string_view given) {
    const std::string_view line = given.substr(0, given.find_last_not_of(' ') + 1);
    if (++lines == 1 && is_head(line)) return;
    const std::int64_t own_width = width == 0 ? count_numbers(line) : width;
    const std::string_view word = own_width == 0 ? std::string_view() : word_of(line, own_width);
    if (word.empty()) {
      throw ConfigError("word vectors", fmt::format("the line must be a word and {} numbers with a space between two",
                                                    own_width == 0 ? "some" : std::to_string(own_width)));
    }
    const auto wanted = place.find(word);
    const bool is_new = wanted != place.end() && !result.found[wanted->second];
    if (is_new) numbers = numbers_of(line.substr(word.size() + 1), own_width);
    if (width == 0) rows.resize(words.size() * static_cast<std::size_t>(own_width));
    width = own_width;
    ++result.num_in_file;
    if (!is_new) return;
    result.found[wanted->second] = true;
    ++result.num_found;
    std::ranges::copy(numbers, row_of(rows, wanted->second, width).begin());
  });
  if (result.num_in_file == 0) throw IoError("word vectors", fmt::format("'{}' has no vectors", path));

  const Moments moments = moments_of(rows, width, result.found);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (result.found[i]) continue;
    fill_normal(row_of(rows, i, width), {seed, hash_of(words[i])}, moments);
  }
  result.rows = Tensor::from_vector(rows, {std::ssize(words), width});
  return result;
}

}  // namespace bough
