#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bough/core/parallel.h"

/// What `bough bench NAME` runs. A benchmark is one file with one run_... function, listed in benchmarks.cpp.
namespace bough::bench {

struct Options {
  int repeats = 7;        ///< timed calls; the median counts
  std::string only = {};  ///< report only cases whose name begins with this
  std::string gpu = {};   ///< if given, bounds for this model of GPU instead of measurements; see gpu_model.h
};

/// Whether a case is to be measured, and whether cases whose names begin with a prefix may be.
bool selected(const Options& options, const std::string& case_name);
bool may_be_selected(const Options& options, const std::string& prefix);

/// One line of output: ours against a named peer measured in the same run.
struct Result {
  std::string case_name;         ///< "8192x512x512"
  double milliseconds = 0;       ///< median
  std::string peer = {};         ///< empty if there is none on this machine
  double peer_milliseconds = 0;  ///< median
  std::string note = {};         ///< anything else worth a word, e.g. "143 GFLOP/s"
  /// The same as numbers with names, for programs to read.
  std::vector<std::pair<std::string, double>> figures = {};
};

/// Called with each result as soon as it is there.
using Report = std::function<void(const Result&)>;

struct Benchmark {
  std::string name;
  std::string description;
  std::function<void(const Options&, const Report&)> run;
  bool models_gpus = false;  ///< whether it can use Options::gpu
};

/// All of them, by name.
const std::vector<Benchmark>& benchmarks();

struct Times {
  double ours = 0;
  double peer = 0;
};

/// The middle one of at least one number.
double median(std::vector<double> times);
/// Median milliseconds of a call, after one that is not timed.
double measure(const Options& options, FunctionRef<void()> call);
/// The same for two calls in turns, so that both see the same noise of the machine.
Times measure_both(const Options& options, FunctionRef<void()> ours, FunctionRef<void()> peer);
/// The same for two that have threads of their own: each turn begins with a pause and a call that is not timed, so that
/// neither meets the threads of the other, which go on spinning for a while after their work.
Times measure_both_settled(const Options& options, FunctionRef<void()> ours, FunctionRef<void()> peer);

void run_allocation(const Options& options, const Report& report);
void run_attention(const Options& options, const Report& report);
void run_attention_ablation(const Options& options, const Report& report);
void run_decode(const Options& options, const Report& report);
void run_elementwise(const Options& options, const Report& report);
void run_gemm(const Options& options, const Report& report);
void run_graph_build(const Options& options, const Report& report);
void run_graph_conversion(const Options& options, const Report& report);
void run_message_passing(const Options& options, const Report& report);
void run_row_operations(const Options& options, const Report& report);
void run_sequence_length(const Options& options, const Report& report);
void run_tokenizer(const Options& options, const Report& report);
void run_train_step(const Options& options, const Report& report);

}  // namespace bough::bench
