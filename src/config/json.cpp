#include "bough/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "bough/core/errors.h"

namespace bough {
namespace {

using nlohmann::json;

constexpr std::size_t shown_characters = 60;

std::string cut(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c < 0x20; });
  if (text.size() <= shown_characters) return text;
  std::size_t end = shown_characters - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "...";
}

/// Builds the value from the parser's events, so that depth and repeated keys are seen while reading.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(std::string_view text, std::string_view where, JsonLimits limits)
      : text_(text), where_(where), limits_(limits) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) {
      throw ConfigError(where_, fmt::format("the key '{}' is given twice", cut(name)));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const json::exception& error) override {
    // The library's message repeats the position and names itself; what it says about the cause stands after the last
    // "while parsing ... - ".
    std::string cause = error.what();
    if (const auto dash = cause.find(" - "); dash != std::string::npos) cause = cause.substr(dash + 3);
    if (const auto last = cause.find("; last read"); last != std::string::npos) cause = cause.substr(0, last);
    if (error.id == 406) cause = fmt::format("the number {} is too large", token);
    const std::size_t end = std::min(position == 0 ? 0 : position - 1, text_.size());
    const std::string_view before = text_.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw ConfigError(where_, fmt::format("line {}, column {}: not valid JSON, {}; last read: '{}'{}", line,
                                          end - line_start + 1, cut(cause), cut(token), hint_for(token)));
  }

 private:
  /// What people write who know other formats.
  static const char* hint_for(const std::string& token) {
    if (token.ends_with('/') || token.ends_with('#')) return "; JSON has no comments";
    return token.ends_with('\'') ? "; JSON has double quotes only" : "";
  }

  template <typename Value>
  bool add(Value&& value) {
    place(json(std::forward<Value>(value)));
    return true;
  }

  json& place(json value) {
    if (stack_.empty()) return root_ = std::move(value);
    json& parent = *stack_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }

  bool open(json value) {
    if (static_cast<int>(stack_.size()) == limits_.max_depth) {
      throw ConfigError(where_, fmt::format("arrays and objects nest deeper than {} levels", limits_.max_depth));
    }
    // A parent does not grow while a child is open, so the address stays good until close().
    json& placed = place(std::move(value));
    stack_.push_back(&placed);
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string where_;
  JsonLimits limits_;
  json root_;
  std::vector<json*> stack_;
  std::string key_;
};

void require_size(std::string_view where, std::uintmax_t bytes, JsonLimits limits) {
  if (bytes > limits.max_bytes) {
    throw ConfigError(where,
                      fmt::format("{} bytes are too many for JSON, at most {} are read", bytes, limits.max_bytes));
  }
}

}  // namespace

json parse_json(std::string_view text, std::string_view where, JsonLimits limits) {
  require_size(where, text.size(), limits);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw ConfigError(where, "line 1, column 1: not valid JSON, there is nothing in it");
  }
  Reader reader(text, where, limits);
  json::sax_parse(text, &reader);
  return reader.take();
}

json read_json_file(const std::filesystem::path& path, JsonLimits limits) {
  const std::string where = path.string();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw IoError(where, "is a directory, not a JSON file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(where, fmt::format("cannot be opened for reading: {}", std::strerror(errno)));
  // Read in chunks up to the limit: the size that the system reports says nothing about pipes and devices.
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
    require_size(where, text.size(), limits);
  }
  if (file.bad()) throw IoError(where, "cannot be read to its end");
  return parse_json(text, where, limits);
}

json json_from_argument(std::string_view argument, std::string_view where) {
  const std::size_t first = argument.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw ConfigError(where, "needs JSON text or the name of a JSON file");
  if (argument[first] == '{' || argument[first] == '[') return parse_json(argument, where);
  return read_json_file(std::filesystem::path(argument));
}

std::string json_excerpt(const json& value) {
  // Containers are described, not printed: printing recurses and may be as long as the input.
  if (value.is_object()) return fmt::format("an object with {} keys", value.size());
  if (value.is_array()) return fmt::format("a list of {} values", value.size());
  return cut(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

void require_json_depth(const json& value, std::string_view where, int max_depth) {
  std::vector<std::pair<const json*, int>> pending{{&value, 1}};
  while (!pending.empty()) {
    const auto [current, depth] = pending.back();
    pending.pop_back();
    if (!current->is_structured()) continue;
    if (depth > max_depth) {
      throw ConfigError(where, fmt::format("arrays and objects nest deeper than {} levels", max_depth));
    }
    for (const json& child : *current) pending.emplace_back(&child, depth + 1);
  }
}

}  // namespace bough
