#include "tools/bough/command_set.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <limits>
#include <memory>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

void add_plugin_option(CLI::App& command, std::vector<std::string>& plugins) {
  command.add_option("--plugin", plugins, "A shared library with further patterns; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "cpu, cuda or cuda:N")->type_name("DEVICE")->capture_default_str();
}

void add_trained_run_options(CLI::App& command, std::string& run, bool& last) {
  command
      .add_option("run", run,
                  "The folder of a run (DIR/runs/NAME), or a checkpoint; the folder of an experiment lists its runs")
      ->type_name("DIR")
      ->required();
  command.add_flag("--last", last, "The parameters after the last step, not those that were best on validation data");
}

/// Without it -1 would be taken for 2^64 - 1.
CLI::Validator seed_range() {
  return CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()).description("");
}

void add_bench_command(Commands& commands) {
  const auto given = std::make_shared<BenchCommand>();
  CLI::App& command =
      commands.add("bench", "Measure bough against a peer in the same run", [given] { run_bench(*given); });
  command.add_option("name", given->name, "Which benchmark; without a name they are listed")->type_name("NAME");
  command.add_flag("--json", given->json, "One JSON object per line");
  command.add_option("--only", given->measuring.only, "Report only cases whose name begins with this")
      ->type_name("PREFIX");
  command.add_option("--device", given->device, "cpu; or cuda, with --model")->type_name("DEVICE");
  command
      .add_option("--model", given->measuring.gpu,
                  "Instead of measuring, the least time that this GPU needs: A100 or H100 (attention only)")
      ->type_name("GPU");
  command.add_option("--repeats", given->measuring.repeats, "Timed calls of each case; the median counts")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
}

void add_compare_command(Commands& commands) {
  const auto given = std::make_shared<CompareCommand>();
  CLI::App& command =
      commands.add("compare", "One report from the results of several experiments", [given] { run_compare(*given); });
  command.add_option("folders", given->folders, "Folders that bough run wrote")->type_name("DIR")->required();
  command.add_option("--out", given->out, "Folder for the report")->type_name("DIR")->capture_default_str();
  add_plugin_option(command, given->plugins);
}

void add_compare_patterns_command(Commands& commands) {
  const auto given = std::make_shared<ComparePatternsCommand>();
  CLI::App& command =
      commands.add("compare-patterns", "Train attention patterns at equal attention degrees and compare them",
                   [given] { run_compare_patterns(*given); });
  command.add_option("--degree", given->degrees, "Attention degrees: how many nodes a token attends to on average")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(0.001, 1e9).description(""))
      ->default_str("14,21,31");
  command
      .add_option("--patterns", given->patterns,
                  "Patterns; parameters that are not to follow from the degree after colons, sparse_fixed:stride=32")
      ->type_name("KIND,...")
      ->default_str("bpt,window,sparse_fixed");
  command
      .add_option("--data", given->data,
                  "A file of text to learn from; without one, a made-up text that needs far context")
      ->type_name("FILE");
  command.add_option("--length", given->length, "Characters of a window")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{2}, max_sequence_length).description(""));
  command.add_option("--steps", given->steps, "Steps of each run")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30).description(""));
  command.add_option("--seeds", given->seeds, "Runs of each pattern and degree; fewer than 3 can tell nothing")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""))
      ->capture_default_str();
  command
      .add_option("--out", given->out, "Folder for the experiment and its results; default: results/compare-patterns")
      ->type_name("DIR");
  command
      .add_option("--set", given->overrides, "Change one more value, e.g. model.layers=6; may be given several times")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_plugin_option(command, given->plugins);
  add_device_option(command, given->device);
  command.add_option("--jobs", given->jobs, "Runs side by side; default: one a core, as long as the memory lasts")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  command.add_flag("--resume", given->resume,
                   "Go on with what is in --out, bit for bit; default: the last results in results/compare-patterns");
  command.add_flag("--dry-run", given->dry_run, "Check everything and print the plan; write and train nothing");
  command.add_flag("--no-open", given->no_open, "Do not open the report, which is done on a terminal with a display");
}

void add_completion_command(Commands& commands) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = commands.add("completion", "Print a script that completes commands, options and pattern names",
                                   [shell] { fmt::print("{}", completion_script(describe_program(), *shell)); });
  command.add_option("shell", *shell, "bash, zsh or fish")->type_name("SHELL")->required();
}

void add_man_command(Commands& commands) {
  commands.add("man", "Print the manual page; bough man | man -l - shows it",
               [] { fmt::print("{}", manual_page(describe_program())); });
}

void add_generate_command(Commands& commands) {
  const auto given = std::make_shared<GenerateCommand>();
  CLI::App& command = commands.add("generate", "Continue a text with a model that bough run has trained",
                                   [given] { run_generate(*given); });
  command
      .add_option("checkpoint", given->checkpoint,
                  "A checkpoint, or the folder of a run (DIR/runs/NAME); the folder of an experiment lists its runs")
      ->type_name("FILE")
      ->required();
  command.add_flag("--last", given->last,
                   "Of a run's folder the parameters after its last step, not those that were best on validation data");
  command.add_option("--prompt", given->options.prompt, "What the text begins with")->type_name("TEXT");
  command
      .add_option("--count", given->options.count,
                  "Characters, words or pieces of words to add: what the model predicts")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->capture_default_str();
  command.add_option("--temperature", given->options.temperature, "0 takes the likeliest one each time")
      ->type_name("T")
      ->capture_default_str();
  command.add_option("--top-k", given->options.top_k, "Choose from so many of the likeliest ones; 0: from all")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--top-p", given->options.top_p,
                  "Choose from the likeliest ones whose probabilities together reach this much")
      ->type_name("P")
      ->capture_default_str();
  command.add_option("--samples", given->samples, "Texts to write, printed one after the other when all are there")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}).description(""))
      ->capture_default_str();
  command.add_option("--seed", given->options.seed, "Of the choices")
      ->type_name("N")
      ->check(seed_range())
      ->capture_default_str();
  add_device_option(command, given->device);
  add_plugin_option(command, given->plugins);
}

void add_generators_command(Commands& commands) {
  const auto given = std::make_shared<GeneratorsCommand>();
  CLI::App& command = commands.add("generators", "List attention patterns with their parameters and defaults",
                                   [given] { run_generators(*given); });
  command.add_flag("--json", given->json, "One JSON list");
  add_plugin_option(command, given->plugins);
}

void add_graph_command(Commands& commands) {
  const auto given = std::make_shared<GraphCommand>();
  CLI::App& command = commands.add("graph", "Build an attention graph: print its edges or figures, draw it, save it",
                                   [given] { run_graph(*given); });
  command
      .add_option(
          "specification", given->specification,
          R"(The name of a pattern, bpt; or JSON like '{"kind": "bpt", "k": 4, "length": 64, "causal": true}', or a file with it; bough generators lists the patterns)")
      ->type_name("GRAPH")
      ->required();
  command.add_option("parameters", given->parameters, "Parameters of the pattern: k=4, degree=14")
      ->type_name("NAME=VALUE");
  command.add_option("--length", given->length, "Tokens of the sequence")->type_name("N");
  command.add_flag("--causal", given->causal, "Tokens depend on earlier ones only");
  CLI::Option* edges = command.add_flag("--edges", given->edges, "Print JSON with all edges, sorted by dst, then src");
  command.add_flag("--stats", given->stats, "Print figures (what it does if nothing else is asked for)")
      ->excludes(edges);
  command.add_flag("--plan", given->plan, "Print how attention will compute on it: dense tiles, rows, memory, time")
      ->excludes(edges);
  command.add_flag("--json", given->json, "Print the figures as JSON");
  command.add_option("--svg", given->svg, "Draw what a token attends to")->type_name("FILE");
  command.add_option("--html", given->html, "Write a page to explore the graph")->type_name("FILE");
  command.add_option("--npz", given->npz, "Save src, dst and edge_types for NumPy")->type_name("FILE");
  command.add_option("--token", given->token, "The token whose sources are drawn; otherwise the one in the middle")
      ->type_name("I")
      ->check(CLI::Range(std::int64_t{0}, max_sequence_length).description(""));
  add_plugin_option(command, given->plugins);
}

void add_predict_command(Commands& commands) {
  const auto given = std::make_shared<PredictCommand>();
  CLI::App& command =
      commands.add("predict", "Say of which class new texts are, with a model that bough run has trained",
                   [given] { run_predict(*given); });
  add_trained_run_options(command, given->run, given->last);
  command
      .add_option("file", given->file,
                  "One text a line, plain or .gz; for nli two sentences with a tab between them, or the hypothesis "
                  "alone if the model reads nothing else; for models along trees a tree in brackets; default: stdin")
      ->type_name("FILE");
  command.add_option("--html", given->html, "Write a page that shows what the model looks at in each text")
      ->type_name("FILE");
  add_device_option(command, given->device);
  add_plugin_option(command, given->plugins);
}

void add_report_command(Commands& commands) {
  const auto given = std::make_shared<ReportCommand>();
  CLI::App& command = commands.add("report", "Table, plots and one HTML page from the results of bough run",
                                   [given] { run_report(*given); });
  command.add_option("folder", given->folder, "What bough run --out was told")->type_name("DIR")->required();
  command.add_option("--note", given->note, "Something to say about these results; kept with them, empty = nothing")
      ->type_name("TEXT");
  add_plugin_option(command, given->plugins);
  command
      .add_option("--leave-out-times", given->leave_out_times,
                  "Why seconds and speeds of these results are not to be shown, kept with them; empty = show them")
      ->type_name("WHY");
}

void add_run_command(Commands& commands) {
  const auto given = std::make_shared<RunCommand>();
  CLI::App& command = commands.add("run", "Run an experiment: train, score and compare attention patterns",
                                   [given] { run_experiment(*given); });
  command
      .add_option("experiment", given->file,
                  "A file (or JSON text) that describes it; without one, the built-in experiment, which needs no data")
      ->type_name("FILE");
  command.add_option("--out", given->out, "Folder for results; default: results/<name>")->type_name("DIR");
  command.add_option("--data", given->data, "Where data files are looked up; then beside the experiment")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command.add_option("--set", given->overrides, "Change one value, e.g. train.steps=50; may be given several times")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_plugin_option(command, given->plugins);
  add_device_option(command, given->device);
  command.add_flag("--tf32", given->tf32, "Let cuBLAS round float32 factors to TF32: faster, errors of about 1e-3");
  command.add_option("--jobs", given->jobs, "Runs side by side; default: one a core, as long as the memory lasts")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  command.add_flag(
      "--resume", given->resume,
      "Go on with what is in --out, bit for bit; default: the last results of this experiment in results/");
  command.add_flag("--tensorboard", given->tensorboard,
                   "Write event files for TensorBoard; tensorboard --logdir DIR/runs shows them while runs train");
  command.add_flag("--dry-run", given->dry_run, "Check everything and print the plan; train nothing");
  command.add_flag("--schema", given->schema, "Print the JSON Schema of experiments");
  command.add_flag("--keys", given->keys, "Print every key of experiments with its meaning, as Markdown");
}

void add_run_worker_command(Commands& commands) {
  commands.add("run-worker", "One run, asked for on stdin by bough run", [] { return run_worker(); })
      .group("");  // not for people
}

void add_score_command(Commands& commands) {
  const auto given = std::make_shared<ScoreCommand>();
  CLI::App& command = commands.add("score", "Score translations: BLEU or chrF, and whether two systems differ",
                                   [given] { run_score(*given); });
  command.add_option("reference", given->reference, "What is right, one segment a line, plain or .gz; - for stdin")
      ->type_name("FILE")
      ->required();
  command.add_option("hypothesis", given->hypothesis, "What a system wrote, line by line")
      ->type_name("FILE")
      ->required();
  command.add_option("--metric", given->metric, "bleu, chrf or chrf++")->type_name("METRIC")->capture_default_str();
  command.add_option("--tokenize", given->tokenize, "Of BLEU: 13a, intl, zh, char or none; default: 13a")
      ->type_name("HOW");
  command.add_option("--smooth", given->smoothing, "Of BLEU: exp, floor, add-k or none; default: exp")
      ->type_name("HOW");
  command.add_flag("--lowercase", given->lowercase, "Compare in small letters");
  command.add_option("--extra-reference", given->references, "One more reference; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  CLI::Option* against =
      command.add_option("--against", given->against, "What another system wrote: compare both by paired bootstrap")
          ->type_name("FILE");
  command.add_option("--samples", given->resampling.samples, "Resamples of the bootstrap")
      ->type_name("N")
      ->check(CLI::Range(1, 10000000).description(""))
      ->needs(against)
      ->capture_default_str();
  command.add_option("--seed", given->resampling.seed, "Of the resamples")
      ->type_name("N")
      ->check(seed_range())
      ->needs(against)
      ->capture_default_str();
  command.add_flag("--json", given->json, "One JSON object");
}

void add_translate_command(Commands& commands) {
  const auto given = std::make_shared<TranslateCommand>();
  CLI::App& command = commands.add("translate", "Translate text, line by line, with a model that bough run has trained",
                                   [given] { run_translate(*given); });
  add_trained_run_options(command, given->run, given->last);
  command
      .add_option("file", given->file,
                  "One sentence a line, plain or .gz; a blank line or <d> begins a document and is printed as it is; "
                  "default: stdin")
      ->type_name("FILE");
  command.add_option("--beam", given->options.beam, "Hypotheses that the search keeps; 1 is greedy")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str();
  command
      .add_option("--length-penalty", given->options.length_penalty,
                  "Log probabilities are divided by ((5 + length) / 6) to this power")
      ->type_name("P")
      ->capture_default_str();
  command
      .add_option(
          "--nbest", given->options.nbest,
          "From 2 on: so many lines for each sentence, with its line number, score and translation between tabs")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str();
  command
      .add_option("--context", given->context,
                  "Tokens of the document that are read with a sentence; default: as in training, which is the most")
      ->type_name("N")
      ->check(CLI::Range(0, 65536).description(""));
  add_device_option(command, given->device);
  add_plugin_option(command, given->plugins);
}

void add_version_command(Commands& commands) {
  const auto given = std::make_shared<VersionCommand>();
  CLI::App& command = commands.add("version", "Version, commit, compiler, libraries, instruction set, threads and CUDA",
                                   [given] { run_version(*given); });
  command.add_flag("--json", given->json, "One JSON object");
}

void add_vocab_command(Commands& commands) {
  const auto given = std::make_shared<VocabCommand>();
  CLI::App& command = commands.add("vocab", "Learn a SentencePiece model, the vocabulary of a translation model",
                                   [given] { run_vocab(*given); });
  SentencePieceTraining& training = given->training;
  command.add_option("files", given->files, "Texts, plain or .gz; of both languages for a joint vocabulary")
      ->type_name("FILE")
      ->required();
  command.add_option("--out", given->out, "The model")->type_name("FILE")->required();
  command.add_option("--kind", training.kind, "bpe or unigram")->type_name("KIND")->capture_default_str();
  command.add_option("--size", training.size, "Pieces, with <pad>, <unk>, <s> and </s>, which are 0 to 3")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--character-coverage", training.character_coverage,
                  "The share of characters that get a piece; 1 for alphabets, 0.9995 for Chinese")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--normalization", training.normalization, "nmt_nfkc, nfkc or identity")
      ->type_name("HOW")
      ->capture_default_str();
  command.add_flag("--lowercase", training.lowercase, "Fold the case of letters");
  command.add_flag("--byte-fallback", training.byte_fallback, "Write unknown characters as bytes: 256 more pieces");
  command.add_option("--symbol", training.user_symbols, "A piece that is never cut; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false);
}

void add_watch_command(Commands& commands) {
  const auto given = std::make_shared<WatchCommand>();
  CLI::App& command = commands.add("watch", "Serve the report of a run that is under way; the page updates itself",
                                   [given] { run_watch(*given); });
  command.add_option("folder", given->folder, "What bough run --out was told")->type_name("DIR")->required();
  command.add_option("--port", given->port, "Port on 127.0.0.1, which only this machine reaches; 0 takes a free one")
      ->type_name("N")
      ->check(CLI::Range(0, 65535).description(""))
      ->capture_default_str();
  command.add_flag("--open", given->open, "Open the page, on a terminal with a display");
  add_plugin_option(command, given->plugins);
}

}  // namespace

void declare_commands(Commands& commands) {
  if (has_benchmarks()) add_bench_command(commands);
  add_compare_command(commands);
  add_compare_patterns_command(commands);
  add_completion_command(commands);
  add_generate_command(commands);
  add_generators_command(commands);
  add_graph_command(commands);
  add_man_command(commands);
  add_predict_command(commands);
  add_report_command(commands);
  add_run_command(commands);
  add_run_worker_command(commands);
  add_score_command(commands);
  add_translate_command(commands);
  add_version_command(commands);
  add_vocab_command(commands);
  add_watch_command(commands);
}

}  // namespace bough::cli
