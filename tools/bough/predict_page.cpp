#include "tools/bough/predict_page.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "src/core/markup.h"
#include "tools/bough/predict_assets.h"

namespace bough::cli {
namespace {

using nlohmann::json;

/// Weights of a page: some ten megabytes of text.
constexpr std::int64_t most_numbers = 2'000'000;

/// As many digits as a colour and a percentage need.
json rounded(const std::vector<double>& values) {
  json result = json::array();
  for (const double value : values) result.push_back(std::round(value * 1e5) / 1e5);
  return result;
}

json readout_data(const ReadoutAttention& readout) {
  json steps = json::array(), nodes = json::array();
  for (const LayerAttention& layer : readout.layers) steps.push_back(rounded(layer.weights));
  for (std::size_t node = 0; node < readout.shares.size(); ++node) {
    if (readout.shares[node] > 0) nodes.push_back(node);
  }
  return {{"nodes", std::move(nodes)}, {"rollout", rounded(readout.rollout)}, {"steps", std::move(steps)}};
}

/// Everything the page's script needs of a text; predict_page.js explains each key.
json text_data(const Explanation& explanation) {
  json sentences = json::array(), nodes = json::array(), readouts = json::array();
  for (const std::vector<ExplainedWord>& words : explanation.words) {
    json sentence = json::array();
    for (const ExplainedWord& word : words) sentence.push_back({word.text, word.known});
    sentences.push_back(std::move(sentence));
  }
  for (const ExplainedNode& node : explanation.nodes) {
    nodes.push_back({to_string(node.kind), node.level, node.sequence, node.covers.begin, node.covers.end});
  }
  for (const ReadoutAttention& readout : explanation.readouts) readouts.push_back(readout_data(readout));
  return {{"label", explanation.prediction.label},
          {"scores", rounded(explanation.prediction.scores)},
          {"leftOut", explanation.prediction.left_out},
          {"sentences", std::move(sentences)},
          {"nodes", std::move(nodes)},
          {"readouts", std::move(readouts)}};
}

std::int64_t numbers_of(const Explanation& explanation) {
  std::int64_t vectors = 0;
  for (const ReadoutAttention& readout : explanation.readouts) vectors += 1 + std::ssize(readout.layers);
  return vectors * std::ssize(explanation.nodes);
}

}  // namespace

PredictPage::PredictPage(const TrainedTextClassifier& classifier, std::string run)
    : classifier_(classifier), run_(std::move(run)) {}

void PredictPage::add(const UnlabelledText& text) {
  if (numbers_ >= most_numbers) {
    ++left_out_;
    return;
  }
  const Explanation explanation = classifier_.explain(text);
  numbers_ += numbers_of(explanation);
  if (steps_.empty()) {
    for (const LayerAttention& layer : explanation.readouts.front().layers) {
      steps_.push_back({layer.layer, layer.stage, layer.cross});
    }
  }
  texts_.push_back(text_data(explanation));
}

std::string PredictPage::html() const {
  const std::string title = fmt::format("What {} looks at", run_);
  std::string summary = fmt::format("{} text{}, attention pattern {}.", texts_.size(), texts_.size() == 1 ? "" : "s",
                                    classifier_.pattern());
  if (left_out_ > 0) summary += fmt::format(" {} more are not shown: a page of all would be too heavy.", left_out_);
  return fill_page(predict_page_html, {{"@TITLE@", escape_xml(title)},
                                       {"@SUMMARY@", escape_xml(summary)},
                                       {"@STYLE@", std::string(predict_page_css)},
                                       {"@SCRIPT@", std::string(predict_page_js)},
                                       {"@DATA@", json_for_script({{"labels", classifier_.labels()},
                                                                   {"pairs", classifier_.reads_pairs()},
                                                                   {"steps", steps_},
                                                                   {"texts", texts_}})}});
}

}  // namespace bough::cli
