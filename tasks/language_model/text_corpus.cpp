#include "tasks/language_model/text_corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/tasks/corpus.h"
#include "src/core/nearest_name.h"
#include "tasks/data/data_path.h"

namespace bough {
namespace {

constexpr std::int64_t most_characters = std::int64_t{1} << 32;

ParameterTable turn_taking_parameters() {
  return {integer_parameter("train_characters", "length of the text to learn from",
                            {.initial = 1'300'000, .smallest = 1, .largest = most_characters}),
          integer_parameter("valid_characters", "length of the text for learning curves",
                            {.initial = 10'000, .smallest = 1, .largest = most_characters}),
          integer_parameter("test_characters", "length of the text that decides",
                            {.initial = 60'000, .smallest = 1, .largest = most_characters}),
          integer_parameter("seed", "of the text; default: that of the run")};
}

ParameterTable text_parameters() {
  return {string_parameter("path", "file with the text, plain or gzip; any bytes"),
          string_parameter("valid_path", "file for learning curves; none = the share of the text before the test", ""),
          string_parameter("test_path", "file that decides; none = the last share of the text", ""),
          number_parameter("held_out", "share of the text that is the test, and again the validation, if not in files",
                           {.initial = 0.05, .minimum = 0.0001, .maximum = 0.4}),
          integer_parameter("characters", "use only so many characters of path; default: all",
                            {.smallest = 1, .largest = most_characters}),
          integer_parameter("valid_characters", "use only so many characters for learning curves",
                            {.initial = 50'000, .smallest = 1, .largest = most_characters}),
          integer_parameter("test_characters", "score only so many characters; default: all of the test",
                            {.smallest = 1, .largest = most_characters})};
}

TextSplits make_turn_taking(const Settings& corpus, std::uint64_t seed) {
  seed = static_cast<std::uint64_t>(corpus.optional_integer("seed").value_or(static_cast<std::int64_t>(seed)));
  // Far apart, so that the texts of neighbouring seeds differ in all three parts.
  return {.train = turn_taking_text(corpus.integer("train_characters"), seed),
          .valid = turn_taking_text(corpus.integer("valid_characters"), 7777 + seed),
          .test = turn_taking_text(corpus.integer("test_characters"), 777 + seed)};
}

TextSplits read_splits(const Settings& corpus, const std::vector<std::string>& folders) {
  const auto file = [&](const char* name) { return read_text(find_data_file(corpus.string(name), folders)); };
  const auto cut = [&](std::string& text, const char* limit) {
    const auto most = static_cast<std::size_t>(corpus.optional_integer(limit).value_or(most_characters));
    if (text.size() > most) text.resize(most);
  };
  TextSplits splits{.train = file("path"), .valid = {}, .test = {}};
  cut(splits.train, "characters");
  const auto share = static_cast<std::size_t>(corpus.number("held_out") * static_cast<double>(splits.train.size()));
  const auto take_end = [&](std::string& part) {
    part = splits.train.substr(splits.train.size() - share);
    splits.train.resize(splits.train.size() - share);
  };
  corpus.string("test_path").empty() ? take_end(splits.test) : void(splits.test = file("test_path"));
  corpus.string("valid_path").empty() ? take_end(splits.valid) : void(splits.valid = file("valid_path"));
  cut(splits.valid, "valid_characters");
  cut(splits.test, "test_characters");
  return splits;
}

}  // namespace

const std::vector<tasks::ObjectKind>& corpus_kinds() {
  static const std::vector<tasks::ObjectKind> kinds = {
      {"turn_taking", "made in the program: the next word depends on words far back", turn_taking_parameters()},
      {"text", "a file", text_parameters()}};
  return kinds;
}

Settings read_corpus_settings(const nlohmann::json& specification) {
  const std::string where = "task.corpus";
  std::vector<std::string> names;
  for (const tasks::ObjectKind& kind : corpus_kinds()) names.push_back(kind.name);
  const auto given = specification.find("kind");
  const std::string name = given == specification.end() ? names.front()
                           : given->is_string()         ? given->get<std::string>()
                                                        : json_excerpt(*given);
  const auto kind = std::ranges::find(corpus_kinds(), name, &tasks::ObjectKind::name);
  if (kind == corpus_kinds().end()) {
    const std::string nearest = nearest_name(name, names);
    throw ConfigError(where, fmt::format("there is no corpus of the kind '{}'{}; known are {}", name,
                                         nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                                         fmt::join(names, ", ")));
  }
  nlohmann::json parameters = specification;
  parameters.erase("kind");
  nlohmann::json values = kind->parameters.read(where, parameters).values();
  values["kind"] = name;
  return {where, values};
}

TextSplits load_corpus(const Settings& corpus, const std::vector<std::string>& folders, std::uint64_t seed) {
  return corpus.string("kind") == "turn_taking" ? make_turn_taking(corpus, seed) : read_splits(corpus, folders);
}

std::vector<tasks::Bound> corpus_bounds(const Settings& corpus) {
  if (corpus.string("kind") != "turn_taking") return {};
  return {{"blind to context", turn_taking_blind_bits}, {"ideal", turn_taking_ideal_bits}};
}

}  // namespace bough
