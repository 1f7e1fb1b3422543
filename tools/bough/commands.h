#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bough/tasks/generate.h"
#include "bough/tasks/translate.h"
#include "bough/tasks/translation_scores.h"
#include "tasks/data/sentencepiece.h"
#include "tools/bench/benchmark.h"

/// What each command of the program does with its options; command_set.cpp says how they are given. A command prints
/// its results to stdout and throws on failure: ConfigError ends the program with exit code 2, anything else with 1.
namespace bough::cli {

struct BenchCommand {
  std::string name;
  bool json = false;
  std::string device = "cpu";
  bench::Options measuring;
};
/// False in builds without benchmarks; then there is no such command.
bool has_benchmarks();
void run_bench(const BenchCommand& command);

struct CompareCommand {
  std::vector<std::string> folders;
  std::string out = "comparison";
  std::vector<std::string> plugins;
};
void run_compare(const CompareCommand& command);

struct ComparePatternsCommand {
  std::vector<double> degrees = {14, 21, 31};
  std::vector<std::string> patterns = {"bpt", "window", "sparse_fixed"};
  std::string data;                    ///< a file; empty: the made-up text
  std::int64_t length = 0, steps = 0;  ///< 0: as in the built-in experiment
  int seeds = 3;
  std::string out;
  std::vector<std::string> overrides, plugins;
  std::string device = "cpu";
  int jobs = 0;
  bool resume = false, dry_run = false, no_open = false;
};
void run_compare_patterns(const ComparePatternsCommand& command);

struct GenerateCommand {
  std::string checkpoint;
  bool last = false;
  std::vector<std::string> plugins;
  std::string device = "cpu";
  std::int64_t samples = 1;
  GenerateOptions options;
};
void run_generate(GenerateCommand command);

struct GeneratorsCommand {
  std::vector<std::string> plugins;
  bool json = false;
};
void run_generators(const GeneratorsCommand& command);

struct GraphCommand {
  std::string specification;            ///< JSON, a file with it, or the name of a pattern
  std::vector<std::string> parameters;  ///< "k=4"
  std::optional<std::int64_t> length;
  bool causal = false;
  std::vector<std::string> plugins;
  bool edges = false;
  bool stats = false;
  bool plan = false;
  bool json = false;
  std::string svg;
  std::string html;
  std::string npz;
  std::int64_t token = -1;
};
void run_graph(const GraphCommand& command);

struct PredictCommand {
  std::string run;
  std::string file;  ///< empty: stdin
  bool last = false;
  std::string html;
  std::vector<std::string> plugins;
  std::string device = "cpu";
};
void run_predict(const PredictCommand& command);

struct ReportCommand {
  std::string folder;
  std::optional<std::string> note;
  std::vector<std::string> plugins;
  std::optional<std::string> leave_out_times;  ///< the reason; empty takes it back
};
void run_report(const ReportCommand& command);
/// What `bough report` does, which `bough run` ends with too.
void write_and_print_report(const std::string& folder);

struct RunCommand {
  std::string file;
  /// The experiment as JSON text that is written to `file` once everything is checked, unless it is there already;
  /// empty: `file` has it.
  std::string text = {};
  std::string out;
  std::vector<std::string> data;
  std::vector<std::string> overrides;
  std::vector<std::string> plugins;
  std::string device = "cpu";
  bool tf32 = false;
  int jobs = 0;
  bool resume = false;
  bool tensorboard = false;
  bool dry_run = false;
  bool schema = false;
  bool keys = false;
};
void run_experiment(RunCommand command);
/// One run, asked for on stdin by another process of run_experiment. Returns the exit code: 1 if the run has failed,
/// which the process that asked learns from stdout.
int run_worker();

struct ScoreCommand {
  std::string reference, hypothesis;    ///< files, or "-" for stdin
  std::vector<std::string> references;  ///< further ones
  std::string metric = "bleu";
  std::optional<std::string> tokenize, smoothing;  ///< of BLEU
  bool lowercase = false;
  std::string against;  ///< the output of another system; empty: none
  BootstrapOptions resampling;
  bool json = false;
};
void run_score(const ScoreCommand& command);

struct TranslateCommand {
  std::string run;
  std::string file;  ///< empty: stdin
  bool last = false;
  std::optional<std::int64_t> context;  ///< default: as in training
  std::vector<std::string> plugins;
  std::string device = "cpu";
  TranslateOptions options;
};
void run_translate(const TranslateCommand& command);

struct VocabCommand {
  std::vector<std::string> files;
  std::string out;
  SentencePieceTraining training;
};
/// ConfigError in builds without SentencePiece.
void run_vocab(const VocabCommand& command);

struct WatchCommand {
  std::string folder;
  int port = 8077;  ///< 0: a free one
  bool open = false;
  std::vector<std::string> plugins;
};
/// Serves the report of the folder on 127.0.0.1 until it is interrupted. ConfigError in builds without cpp-httplib.
void run_watch(const WatchCommand& command);

struct VersionCommand {
  bool json = false;
};
void run_version(const VersionCommand& command);

}  // namespace bough::cli
