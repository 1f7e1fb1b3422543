#include "tools/bough/command_line.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bough/core/version.h"
#include "bough/graph/graph_generator.h"
#include "src/core/nearest_name.h"
#include "tools/bough/commands.h"

/// The only file that knows CLI11, which takes long to compile.
namespace bough::cli {
namespace {

/// The commands of a program and what they run.
class Commands {
 public:
  explicit Commands(CLI::App& program) : program_(program) {}

  /// Declares a command; the caller adds its options to what is returned.
  CLI::App& add(const std::string& name, const std::string& description, std::function<int()> run) {
    CLI::App* app = program_.add_subcommand(name, description);
    app->fallthrough();  // --threads may stand before or after the command
    entries_.push_back({app, std::move(run)});
    return *app;
  }
  /// A command that has succeeded if it has not thrown.
  template <typename Run>
  requires std::is_void_v<std::invoke_result_t<Run>> CLI::App& add(const std::string& name,
                                                                   const std::string& description, Run run) {
    return add(name, description, std::function<int()>([run] {
                 run();
                 return 0;
               }));
  }

  /// What runs the command that was given and returns its exit code; empty if there was none.
  std::function<int()> given() const {
    for (const Entry& entry : entries_) {
      if (entry.app->parsed()) return entry.run;
    }
    return {};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries_) result.push_back(entry.app->get_name());
    return result;
  }

 private:
  struct Entry {
    CLI::App* app;
    std::function<int()> run;
  };

  CLI::App& program_;
  std::vector<Entry> entries_;
};

void add_plugin_option(CLI::App& command, std::vector<std::string>& plugins) {
  command.add_option("--plugin", plugins, "A shared library with further patterns; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "cpu, cuda or cuda:N")->type_name("DEVICE")->capture_default_str();
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
  command
      .add_option("run", given->run,
                  "The folder of a run (DIR/runs/NAME), or a checkpoint; the folder of an experiment lists its runs")
      ->type_name("DIR")
      ->required();
  command
      .add_option("file", given->file,
                  "One text a line, plain or .gz; for nli two sentences with a tab between them, or the hypothesis "
                  "alone if the model reads nothing else; for models along trees a tree in brackets; default: stdin")
      ->type_name("FILE");
  command.add_flag("--last", given->last,
                   "The parameters after the last step, not those that were best on validation data");
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

/// The program with all it takes.
struct Program {
  CLI::App app{"Message passing on graphs: attention graphs, kernels, training.", "bough"};
  Commands commands{app};
  std::optional<int> threads;
  std::string kernel_trace;

  Program() {
    app.set_version_flag("--version", fmt::format("bough {}", build_information().version),
                         "Print the version and end");
    app.add_option("--threads", threads, "Number of threads; otherwise BOUGH_THREADS, otherwise all cores")
        ->type_name("N");
    app.add_option(
           "--trace-kernels", kernel_trace,
           "Time every kernel on a GPU: one JSON object a line in this file, a table at the end; runs are slower "
           "and one after the other")
        ->type_name("FILE");
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
    add_version_command(commands);
    add_vocab_command(commands);
    add_watch_command(commands);
  }
};

std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

std::vector<std::string> option_names(const CLI::App& program, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app : {&command, &program}) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string where_help_is(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? "see bough --help" : fmt::format("see bough {} --help", parsed.front()->get_name());
}

/// What to say about an argument that no command or option takes.
std::string describe_unexpected(const std::string& argument, const CLI::App& program, const Commands& commands) {
  const auto parsed = program.get_subcommands();
  if (argument.starts_with('-')) {
    const CLI::App& command = parsed.empty() ? program : *parsed.front();
    const std::string hint = suggestion(argument, option_names(program, command));
    const bool may_be_parameter = hint.empty() && argument.starts_with("--") && command.get_name() == "graph";
    return fmt::format("there is no option '{}'{}{}", argument, hint,
                       may_be_parameter ? "; parameters of a pattern have no dashes: k=4" : "");
  }
  if (!parsed.empty()) return fmt::format("'{}' was not expected", argument);
  return fmt::format("there is no command '{}'{}", argument, suggestion(argument, commands.names()));
}

/// The option of the program or the command that was given, by the name that CLI11 has in its messages.
const CLI::Option* option_named(const std::string& name, const CLI::App& program) {
  std::vector<const CLI::App*> apps{&program};
  for (const CLI::App* command : program.get_subcommands()) apps.push_back(command);
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_name() == name || option->check_name(name)) return option;
    }
  }
  return nullptr;
}

/// What stands in a text between two others; empty if they are not there.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find(after, begin + before.size());
  return end == std::string::npos ? "" : text.substr(begin + before.size(), end - begin - before.size());
}

/// "0.001" for "0.001000".
std::string without_zeros(const std::string& number) {
  if (number.find('.') == std::string::npos) return number;
  const std::string shorter = number.substr(0, number.find_last_not_of('0') + 1);
  return shorter.ends_with('.') ? shorter.substr(0, shorter.size() - 1) : shorter;
}

/// "--jobs: Value 0 not in range 1 to 1024" in other words; empty if the text is none like it.
std::string describe_range_error(const std::string& text) {
  const std::string name = text.substr(0, text.find(": ")), value = between(text, ": Value ", " not in range "),
                    smallest = between(text, " not in range ", " to ");
  if (value.empty() || smallest.empty()) return "";
  const std::string largest = text.substr(text.find(" to ", text.find(" not in range ")) + 4);
  const bool is_number = value.find_first_not_of("+-.0123456789e") == std::string::npos;
  return fmt::format("{} {} a number from {} to {}, not {}", name, is_number ? "must be" : "expects",
                     without_zeros(smallest), without_zeros(largest), is_number ? value : "'" + value + "'");
}

/// What CLI11 says of a value that is missing or of the wrong type names the option and little else.
std::string describe_value_error(const CLI::ParseError& error, const CLI::App& program) {
  std::string text = error.what();
  if (const std::string range = describe_range_error(text); !range.empty()) return range;
  if (const std::string type = between(text, ": 1 required ", " missing"); !type.empty()) {
    return fmt::format("{0} needs a value: {0} {1}", text.substr(0, text.find(": ")), type);
  }
  if (text.find(": At Most 1 required but received ") != std::string::npos) {
    return fmt::format("{} is given more than once", text.substr(0, text.find(": ")));
  }
  const std::string failed = "Could not convert: ", missing = " is required";
  if (text.starts_with(failed) && text.find(" = ") != std::string::npos) {
    const std::size_t equals = text.find(" = ");
    const std::string name = text.substr(failed.size(), equals - failed.size());
    const std::string value = text.substr(equals + 3);
    const CLI::Option* option = option_named(name, program);
    const std::string type = option == nullptr ? "" : option->get_type_name();
    return fmt::format("{} expects {}, not '{}'", name,
                       type.starts_with("N") || type.starts_with("T") ? "a number" : "another value", value);
  }
  if (text.ends_with(missing)) {
    const std::string name = text.substr(0, text.size() - missing.size());
    const CLI::Option* option = option_named(name, program);
    if (option != nullptr) return fmt::format("{} is missing: {}", name, option->get_description());
  }
  return text;
}

/// A mistyped name often makes something else look missing, so it comes first.
std::string describe(const CLI::ParseError& error, const CLI::App& program, const Commands& commands) {
  const std::vector<std::string> unexpected = program.remaining(true);
  const std::string problem = unexpected.empty() ? describe_value_error(error, program)
                                                 : describe_unexpected(unexpected.front(), program, commands);
  return fmt::format("{}; {}", problem, where_help_is(program));
}

OptionHelp describe_option(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // followed by what a check of the value is called, "I:NONNEGATIVE"
  OptionHelp help{.names = {},
                  .value = option.get_expected_max() == 0 ? "" : type.substr(0, type.find(':')),
                  .description = option.get_description(),
                  .initial = option.get_default_str(),
                  .required = option.get_required(),
                  .repeated = option.get_expected_max() > 1};
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  if (help.names.empty()) help.names.push_back(option.get_name(true));
  return help;
}

std::vector<OptionHelp> describe_options(const CLI::App& app, bool positional) {
  std::vector<OptionHelp> result;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == positional) result.push_back(describe_option(*option));
  }
  return result;
}

}  // namespace

ProgramHelp describe_program() {
  const Program program;
  ProgramHelp help{.name = program.app.get_name(),
                   .description = program.app.get_description(),
                   .version = build_information().version,
                   .options = describe_options(program.app, false),
                   .commands = {}};
  for (const CLI::App* command : program.app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // not for people
    CommandHelp& entry = help.commands.emplace_back();
    entry.name = command->get_name();
    entry.description = command->get_description();
    entry.arguments = describe_options(*command, true);
    for (OptionHelp& option : describe_options(*command, false)) {
      if (option.names.front() != "--help") entry.options.push_back(std::move(option));  // one of every command
    }
  }
  return help;
}

CommandLine parse_command_line(int argument_count, char** arguments) {
  Program program;
  try {
    program.app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {.help = program.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return {.help = fmt::format("{}\n", version.what())};
  } catch (const CLI::ParseError& error) {
    return {.problem = describe(error, program.app, program.commands)};
  }
  return {.run = program.commands.given(), .threads = program.threads, .kernel_trace = program.kernel_trace};
}

std::string program_help() { return Program().app.help(); }

}  // namespace bough::cli
