#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/tasks/corpus.h"
#include "bough/tasks/translation_scores.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

using nlohmann::ordered_json;

/// So many lines that end like tokenized text are no accident.
constexpr std::ptrdiff_t many_tokenized_lines = 100;

bool is_stdin(const std::string& path) { return path == "-"; }

std::string name_of(const std::string& path) { return is_stdin(path) ? "stdin" : path; }

std::string read_stdin() {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t bytes = std::fread(chunk.data(), 1, chunk.size(), stdin)) text.append(chunk.data(), bytes);
  if (std::ferror(stdin) != 0) throw IoError("score", fmt::format("stdin cannot be read: {}", std::strerror(errno)));
  if (text.starts_with("\x1f\x8b")) throw IoError("score", "stdin is compressed; name the file instead, or use zcat");
  return text;
}

/// Lines as sacreBLEU has them: they end at "\n" alone, and U+FEFF in front of the first one belongs to it.
std::vector<std::string> read_lines(const std::string& path) {
  const std::string text = is_stdin(path) ? read_stdin() : read_text(path);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.empty()) throw IoError("score", fmt::format("{} has no lines", name_of(path)));
  return lines;
}

std::unique_ptr<TranslationMetric> make_metric(const ScoreCommand& command) {
  if (command.metric == "bleu") {
    return std::make_unique<Bleu>(BleuOptions{.tokenize = command.tokenize.value_or("13a"),
                                              .lowercase = command.lowercase,
                                              .smoothing = command.smoothing.value_or("exp")});
  }
  if (command.metric != "chrf" && command.metric != "chrf++") {
    throw ConfigError("--metric", fmt::format("there are bleu, chrf and chrf++, not '{}'", command.metric));
  }
  if (command.tokenize || command.smoothing) {
    throw ConfigError(command.tokenize ? "--tokenize" : "--smooth",
                      fmt::format("only BLEU has it; {} compares characters", command.metric));
  }
  return std::make_unique<Chrf>(
      ChrfOptions{.word_order = command.metric == "chrf++" ? 2 : 0, .lowercase = command.lowercase});
}

/// Everything that is compared, line by line.
class Files {
 public:
  explicit Files(const ScoreCommand& command) {
    std::vector<std::string> paths{command.reference};
    paths.insert(paths.end(), command.references.begin(), command.references.end());
    const std::size_t num_references = paths.size();
    paths.push_back(command.hypothesis);
    if (!command.against.empty()) paths.push_back(command.against);
    if (std::ranges::count_if(paths, is_stdin) > 1)
      throw ConfigError("score", "only one of the files can be stdin, '-'");
    for (const std::string& path : paths) {
      std::vector<std::string> lines = read_lines(path);
      if (!references.empty() && lines.size() != references.front().size()) {
        throw IoError("score",
                      fmt::format("{} has {} lines and {} has {}; they belong together line by line",
                                  name_of(command.reference), references.front().size(), name_of(path), lines.size()));
      }
      (references.size() < num_references ? references : systems).push_back(std::move(lines));
    }
  }

  std::vector<std::vector<std::string>> references;
  std::vector<std::vector<std::string>> systems;  ///< the one in question, then the one it is compared with
};

void warn_of_tokenized_lines(const ScoreCommand& command, const std::vector<std::string>& hypotheses) {
  if (command.metric != "bleu" || command.tokenize == "none") return;
  const auto lines = std::ranges::count_if(hypotheses, [](const std::string& line) { return line.ends_with(" ."); });
  if (lines < many_tokenized_lines) return;
  fmt::print(stderr, "bough: {} of {} lines of {} end in ' .' as if they were tokenized; BLEU is that of plain text\n",
             lines, hypotheses.size(), name_of(command.hypothesis));
}

void print_json(const ordered_json& object) {
  fmt::print("{}\n", object.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void print_score(const ScoreCommand& command, const TranslationMetric& metric, const SegmentCounts& counts,
                 std::int64_t num_references) {
  const std::vector<std::int64_t> totals = counts.totals();
  const std::string signature = metric.signature(num_references);
  const auto* const bleu = dynamic_cast<const Bleu*>(&metric);
  if (!command.json) {
    fmt::print("{}\n{}\n",
               bleu != nullptr ? to_string(bleu->parts(totals))
                               : fmt::format("{} = {:.2f}", metric.name(), metric.score(totals)),
               signature);
    return;
  }
  ordered_json object{{"metric", metric.name()},
                      {"score", metric.score(totals)},
                      {"signature", signature},
                      {"segments", counts.num_segments()}};
  if (bleu != nullptr) {
    const BleuScore parts = bleu->parts(totals);
    object.update({{"precisions", parts.precisions},
                   {"matches", parts.matches},
                   {"totals", parts.totals},
                   {"brevity_penalty", parts.brevity_penalty},
                   {"hypothesis_length", parts.hypothesis_length},
                   {"reference_length", parts.reference_length}});
  }
  print_json(object);
}

void add_estimate(ordered_json& object, const ScoreEstimate& estimate) {
  object.update({{"score", estimate.score}, {"mean", estimate.mean}, {"low", estimate.low}, {"high", estimate.high}});
}

void print_comparison(const ScoreCommand& command, const TranslationMetric& metric, const SegmentCounts& system,
                      const SegmentCounts& baseline, std::int64_t num_references) {
  const PairedBootstrap found = paired_bootstrap(metric, system, baseline, command.resampling);
  const std::string signature = metric.signature(num_references, command.resampling);
  if (command.json) {
    ordered_json of_system{{"file", command.hypothesis}}, of_baseline{{"file", command.against}}, difference;
    add_estimate(of_system, found.system);
    add_estimate(of_baseline, found.baseline);
    add_estimate(difference, found.difference);
    print_json({{"metric", metric.name()},
                {"score", found.system.score},
                {"signature", signature},
                {"segments", system.num_segments()},
                {"system", of_system},
                {"baseline", of_baseline},
                {"difference", difference},
                {"p_value", found.p_value}});
    return;
  }
  const std::string one = name_of(command.hypothesis), other = name_of(command.against), last = "difference";
  const std::size_t width = std::max({one.size(), other.size(), last.size()});
  fmt::print("{:{}}  {:>7}  {:>7}  95% of resamples\n", metric.name(), width, "score", "mean");
  fmt::print("{:{}}  {:7.2f}  {:7.2f}  {:.2f} to {:.2f}\n", one, width, found.system.score, found.system.mean,
             found.system.low, found.system.high);
  fmt::print("{:{}}  {:7.2f}  {:7.2f}  {:.2f} to {:.2f}\n", other, width, found.baseline.score, found.baseline.mean,
             found.baseline.low, found.baseline.high);
  fmt::print("{:{}}  {:+7.2f}  {:+7.2f}  {:+.2f} to {:+.2f}, p = {:.4f}\n", last, width, found.difference.score,
             found.difference.mean, found.difference.low, found.difference.high, found.p_value);
  fmt::print("{}\n", signature);
}

}  // namespace

void run_score(const ScoreCommand& command) {
  const std::unique_ptr<TranslationMetric> metric = make_metric(command);
  const Files files(command);
  warn_of_tokenized_lines(command, files.systems.front());
  const SegmentCounts counts = metric->count_corpus(files.systems.front(), files.references);
  const std::int64_t num_references = std::ssize(files.references);
  if (command.against.empty()) {
    print_score(command, *metric, counts, num_references);
  } else {
    print_comparison(command, *metric, counts, metric->count_corpus(files.systems.back(), files.references),
                     num_references);
  }
}

}  // namespace bough::cli
