#include "bough/tasks/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "src/core/files.h"
#include "tools/bough/commands.h"
#include "tools/bough/output_files.h"
#include "tools/bough/predict_page.h"
#include "tools/bough/text_lines.h"
#include "tools/bough/trained_run.h"

namespace bough::cli {
namespace {

/// Texts that are judged together, if so many are there: enough for full batches, few enough to answer soon.
constexpr std::size_t texts_at_once = 512;

UnlabelledText tree_of(const std::string& line, const TrainedTextClassifier& classifier, const std::string& place) {
  UnlabelledText tree{.text = line};
  try {
    classifier.require_readable(tree);
  } catch (const ConfigError& error) {
    const std::string_view message = error.what();
    throw IoError("predict", fmt::format("{} is no phrase tree that the model reads: {}", place,
                                         message.substr(message.find("] ") + 2)));
  }
  return tree;
}

UnlabelledText text_of(const std::string& line, const TrainedTextClassifier& classifier, const std::string& place) {
  const auto is_blank = [](std::string_view text) { return text.find_first_not_of(" \t\v\f") == text.npos; };
  if (is_blank(line)) {
    throw IoError("predict", fmt::format("{} is empty; a line is {}", place,
                                         classifier.reads_pairs()        ? "two sentences with a tab between them"
                                         : classifier.reads_trees()      ? "a phrase tree in brackets"
                                         : classifier.reads_hypotheses() ? "a hypothesis"
                                                                         : "a text"));
  }
  const auto tabs = std::ranges::count(line, '\t');
  if (classifier.reads_hypotheses() && tabs > 0) {
    throw IoError("predict", fmt::format("{} has a tab, and the model reads one sentence a line, the hypothesis alone; "
                                         "leave the premise out",
                                         place));
  }
  if (classifier.reads_trees()) return tree_of(line, classifier, place);
  if (!classifier.reads_pairs()) return {.text = line};
  const std::size_t tab = line.find('\t');
  UnlabelledText pair{.text = line.substr(0, tab), .second = tab == line.npos ? "" : line.substr(tab + 1)};
  if (tabs != 1 || is_blank(pair.text) || is_blank(pair.second)) {
    throw IoError("predict",
                  fmt::format("{} must be two sentences with a tab between them; it has {} tab{}{}", place, tabs,
                              tabs == 1 ? "" : "s", tabs == 1 ? " and nothing on one side of it" : ""));
  }
  return pair;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_line(const std::vector<std::string>& labels, const Prediction& prediction) {
  std::string line = fmt::format("{{\"label\": {}, \"scores\": {{", quoted(prediction.label));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    line += fmt::format("{}{}: {:.6g}", i == 0 ? "" : ", ", quoted(labels[i]), prediction.scores[i]);
  }
  line += '}';
  if (prediction.left_out > 0) line += fmt::format(", \"left_out\": {}", prediction.left_out);
  return line + "}\n";
}

/// Judges texts as they come, and remembers what is to be said of all of them.
class Predictions {
 public:
  Predictions(const TrainedTextClassifier& classifier, PredictPage* page) : classifier_(classifier), page_(page) {}

  /// All lines up to the last one or the first bad one, whose error is thrown when those before it are printed.
  void print(TextLines& lines) {
    std::exception_ptr problem;
    for (bool more = true; more;) {
      std::vector<UnlabelledText> texts;
      try {
        more = read(lines, texts);
      } catch (const IoError&) {
        problem = std::current_exception();
        more = false;
      }
      print(texts);
    }
    if (problem) std::rethrow_exception(problem);
    print_remarks();
  }

 private:
  /// As many lines as are judged together, fewer where the next one is not there yet; false after the last.
  bool read(TextLines& lines, std::vector<UnlabelledText>& texts) const {
    std::string line;
    while (texts.size() < texts_at_once) {
      if (!texts.empty() && !lines.is_ready()) return true;
      if (!lines.next(line)) return false;
      texts.push_back(text_of(line, classifier_, lines.place()));
    }
    return true;
  }

  void print(const std::vector<UnlabelledText>& texts) {
    for (const Prediction& prediction : classifier_.predict(texts)) {
      const std::string line = json_line(classifier_.labels(), prediction);
      std::fwrite(line.data(), 1, line.size(), stdout);
      words_ += prediction.words - prediction.left_out;
      unknown_ += prediction.unknown;
      cut_ += prediction.left_out > 0 ? 1 : 0;
      ++texts_;
    }
    if (std::fflush(stdout) != 0) {
      throw IoError("predict", fmt::format("the output could not be written: {}", std::strerror(errno)));
    }
    if (page_ == nullptr) return;
    for (const UnlabelledText& text : texts) page_->add(text);
  }

  void print_remarks() const {
    if (unknown_ > 0) {
      fmt::print(stderr, "bough: {} of {} words ({:.1f}%) are unknown to the model\n", unknown_, words_,
                 100 * static_cast<double>(unknown_) / static_cast<double>(words_));
    }
    if (cut_ > 0) {
      fmt::print(stderr, "bough: {} of {} texts were cut: the model reads up to {} words{}\n", cut_, texts_,
                 classifier_.longest(), classifier_.reads_pairs() ? " of a sentence" : "");
    }
    if (page_ != nullptr && page_->left_out() > 0) {
      fmt::print(stderr, "bough: the page shows the first {} of {} texts; all would be too heavy for a browser\n",
                 texts_ - page_->left_out(), texts_);
    }
  }

  const TrainedTextClassifier& classifier_;
  PredictPage* page_;
  std::int64_t words_ = 0, unknown_ = 0, texts_ = 0, cut_ = 0;
};

/// The page of what was read goes to the file, also where a later line is bad.
class PageFile {
 public:
  PageFile(const TrainedTextClassifier& classifier, const std::string& checkpoint, const std::string& path)
      : page(classifier, std::filesystem::canonical(checkpoint).parent_path().filename().string()), writer_(path) {}

  void write() {
    const std::string text = page.html();
    writer_.write(text.data(), text.size());
    writer_.commit();
  }

  PredictPage page;

 private:
  AtomicFileWriter writer_;
};

}  // namespace

void run_predict(const PredictCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  const std::optional<std::string> checkpoint =
      find_checkpoint("predict", command.run, command.last, !command.file.empty());
  if (!checkpoint) return;
  require_separate_files({{"--html", command.html}}, {command.file, *checkpoint});
  const Device device = parse_device(command.device);
  TextLines lines(command.file);
  warn_of_another_graph(*checkpoint);
  const TrainedTextClassifier classifier(*checkpoint, device);
  if (!command.html.empty() && !classifier.attends()) {
    throw ConfigError("--html", "the model has recurrent layers, which attend to nothing that a page could show");
  }
  std::optional<PageFile> page;
  if (!command.html.empty()) page.emplace(classifier, *checkpoint, command.html);
  Predictions predictions(classifier, page ? &page->page : nullptr);
  try {
    predictions.print(lines);
  } catch (const IoError&) {
    if (page) page->write();
    throw;
  }
  if (page) page->write();
}

}  // namespace bough::cli
