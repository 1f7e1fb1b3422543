#include "bough/tasks/translate.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tools/bough/commands.h"
#include "tools/bough/text_lines.h"
#include "tools/bough/trained_run.h"

namespace bough::cli {
namespace {

/// Lines that are translated together, if so many are there: enough for full batches, few enough to answer soon.
constexpr std::size_t lines_at_once = 256;

/// A blank line or <d>, which stands between documents and is no sentence.
bool is_between_documents(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\v\f");
  if (begin == line.npos) return true;
  const std::size_t end = line.find_last_not_of(" \t\v\f");
  return line.substr(begin, end + 1 - begin) == "<d>";
}

/// Translates lines as they come, and remembers what is to be said of all of them.
class Translations {
 public:
  Translations(const TrainedTranslator& translator, const TranslateOptions& options)
      : translator_(translator), stream_(translator, options), ranked_(options.nbest > 1) {}

  void print(TextLines& lines) {
    for (bool more = true; more;) {
      std::vector<std::string> read;
      std::string line;
      while (more && read.size() < lines_at_once) {
        if (!read.empty() && !lines.is_ready()) break;
        more = lines.next(line);
        if (more) read.push_back(line);
      }
      print(read);
    }
    if (cut_ > 0) {
      fmt::print(stderr, "bough: {} of {} sentences were cut: the model reads up to {} tokens\n", cut_, sentences_,
                 translator_.max_length());
    }
  }

 private:
  void print(const std::vector<std::string>& lines) {
    std::vector<SourceSentence> sentences;
    for (const std::string& line : lines) {
      if (is_between_documents(line)) {
        begins_ = true;
      } else {
        sentences.push_back({.text = line, .begins_document = std::exchange(begins_, false)});
      }
    }
    const std::vector<TranslatedSentence> translated = stream_.translate(sentences);
    auto next = translated.begin();
    std::string output;
    for (const std::string& line : lines) {
      ++number_;
      if (is_between_documents(line)) {
        if (!ranked_) output += line + "\n";
        continue;
      }
      add(*next++, output);
    }
    std::fwrite(output.data(), 1, output.size(), stdout);
    if (std::fflush(stdout) != 0) {
      throw IoError("translate", fmt::format("the output could not be written: {}", std::strerror(errno)));
    }
  }

  void add(const TranslatedSentence& sentence, std::string& output) {
    ++sentences_;
    cut_ += sentence.cut ? 1 : 0;
    if (!ranked_) {
      output += sentence.text() + "\n";
      return;
    }
    for (const TranslationHypothesis& hypothesis : sentence.hypotheses) {
      output += fmt::format("{}\t{:.4f}\t{}\n", number_, hypothesis.score, hypothesis.text);
    }
  }

  const TrainedTranslator& translator_;
  TranslationStream stream_;
  bool ranked_, begins_ = true;
  std::int64_t number_ = 0, sentences_ = 0, cut_ = 0;
};

}  // namespace

void run_translate(const TranslateCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  const std::optional<std::string> checkpoint = find_checkpoint("translate", command.run, command.last);
  if (!checkpoint) return;
  const Device device = parse_device(command.device);
  TextLines lines(command.file);
  warn_of_another_graph(*checkpoint);
  const TrainedTranslator translator(*checkpoint, device, command.context);
  Translations(translator, command.options).print(lines);
}

}  // namespace bough::cli
