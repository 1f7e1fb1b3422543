#include "bough/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string error_of(std::string_view text, JsonLimits limits = {}) {
  try {
    parse_json(text, "spec.json", limits);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string repeated(char character, std::size_t count) { return std::string(count, character); }

TEST(ParseJson, ReadsWhatTheLibraryReads) {
  const std::string text =
      R"({"a": [1, -2, 2.5, 1e3, true, null], "b": {"c": "d\u00e9", "e": []}, "f": 18446744073709551615})";
  EXPECT_EQ(parse_json(text, "test"), json::parse(text));
  EXPECT_EQ(parse_json(" 7 ", "test"), json(7));
  EXPECT_EQ(parse_json("[[],[[]],{}]", "test"), json::parse("[[],[[]],{}]"));
}

TEST(ParseJson, NamesLineAndColumnOfAMistake) {
  EXPECT_THAT(error_of("{\"kind\": \"bpt\",\n \"k\": }"), HasSubstr("[spec.json] line 2, column 7: "));
  EXPECT_THAT(error_of("{\"k\": 4,}"), HasSubstr("line 1, column 9"));
  EXPECT_THAT(error_of(""), HasSubstr("line 1, column 1: not valid JSON, there is nothing in it"));
  EXPECT_EQ(error_of(" \n"), error_of(""));
  EXPECT_THAT(error_of("{\"k\": 4} x"), HasSubstr("line 1"));
}

TEST(ParseJson, RefusesNaNCommentsAndHugeNumbers) {
  EXPECT_THAT(error_of("{\"k\": NaN}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"k\": Infinity}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{} // done"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"k\": 1e999}"), HasSubstr("1e999 is too large"));
}

TEST(ParseJson, RefusesAKeyGivenTwice) {
  EXPECT_THAT(error_of(R"({"k": 1, "a": {"k": 2}, "k": 3})"), HasSubstr("'k' is given twice"));
  EXPECT_EQ(error_of(R"({"k": 1, "a": {"k": 2}})"), "no error");
}

TEST(ParseJson, RefusesDeepNestingWithoutRecursion) {
  const std::string deep(5'000'000, '[');
  EXPECT_THAT(error_of(deep), HasSubstr("deeper than 64 levels"));
  EXPECT_EQ(error_of(std::string(64, '[') + std::string(64, ']')), "no error");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_THAT(error_of(objects), HasSubstr("deeper than 64 levels"));
}

TEST(ParseJson, RefusesTooManyBytesAndGarbageAtOnce) {
  EXPECT_THAT(error_of(repeated('x', 100'000'000)), HasSubstr("100000000 bytes are too many"));
  EXPECT_THAT(error_of(repeated('\x01', 60'000'000)), HasSubstr("not valid JSON"));
  EXPECT_LT(error_of("{\"" + repeated('k', 10'000'000) + "\": x}").size(), 400u);
  EXPECT_THAT(error_of("12345", {.max_bytes = 4}), HasSubstr("at most 4"));
}

TEST(ParseJson, RefusesBrokenUtf8) { EXPECT_THAT(error_of("{\"k\": \"\xff\xfe\"}"), HasSubstr("not valid JSON")); }

TEST(JsonFile, IsReadOrRefusedWithItsName) {
  const auto folder = std::filesystem::temp_directory_path();
  const auto path = folder / "bough_json_test.json";
  std::ofstream(path) << "{\"k\": [1, 2]}\n";
  EXPECT_EQ(read_json_file(path), json::parse("{\"k\": [1, 2]}"));
  EXPECT_EQ(json_from_argument(path.string(), "spec"), json::parse("{\"k\": [1, 2]}"));
  EXPECT_THROW(read_json_file(path, {.max_bytes = 5}), ConfigError);
  std::filesystem::remove(path);
  EXPECT_THROW(read_json_file(path), IoError);
  EXPECT_THROW(read_json_file(folder), IoError);
}

TEST(JsonArgument, IsTextIfItLooksLikeIt) {
  EXPECT_EQ(json_from_argument("  {\"k\": 1}", "spec"), json::parse("{\"k\": 1}"));
  EXPECT_THROW(json_from_argument("", "spec"), ConfigError);
  EXPECT_THROW(json_from_argument("{", "spec"), ConfigError);
  EXPECT_THROW(json_from_argument("no-such-file.json", "spec"), IoError);
}

TEST(Shorten, KeepsMessagesShort) {
  EXPECT_EQ(json_excerpt(json(4)), "4");
  EXPECT_EQ(json_excerpt(json("a\nb")), R"("a\nb")");
  EXPECT_LE(json_excerpt(json(std::string(1000, 'a'))).size(), 60u);
  EXPECT_EQ(json_excerpt(json::array({1, 2})), "a list of 2 values");
  EXPECT_EQ(json_excerpt(json::object()), "an object with 0 keys");
  EXPECT_NO_THROW(json_excerpt(json("\xff")));
}

TEST(RequireDepth, SeesWhatDidNotComeFromText) {
  json deep = json::object();
  for (int i = 0; i < 100'000; ++i) {
    json outer = json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_THROW(require_json_depth(deep, "spec"), ConfigError);
  EXPECT_NO_THROW(require_json_depth(json::parse("{\"a\": [[{}]]}"), "spec"));
}

}  // namespace
}  // namespace bough
