#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/core/version.h"
#include "bough/tasks/translation_scores.h"
#include "tasks/metrics/signature.h"

namespace bough {
namespace {

constexpr std::int64_t segments_at_once = 64;

using Lines = std::span<const std::string>;

SegmentCounts count_lines(const TranslationMetric& metric, Lines hypotheses, const std::vector<Lines>& references) {
  if (references.empty()) throw ConfigError(metric.name(), "there must be at least one reference");
  for (const Lines& lines : references) {
    if (lines.size() != hypotheses.size()) {
      throw ConfigError(metric.name(),
                        fmt::format("each hypothesis needs its reference, there are {} hypotheses and {} references",
                                    hypotheses.size(), lines.size()));
    }
  }
  const std::int64_t segments = std::ssize(hypotheses);
  SegmentCounts result{.width = metric.width()};
  const auto width = static_cast<std::size_t>(result.width);
  result.counts.resize(hypotheses.size() * width);
  parallel_chunks(segments, segments_at_once, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::string_view> of_segment(references.size());
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      for (std::size_t r = 0; r < references.size(); ++r) of_segment[r] = references[r][i];
      metric.count_segment(hypotheses[i], of_segment, std::span(result.counts).subspan(i * width, width));
    }
  });
  return result;
}

}  // namespace

std::vector<std::int64_t> SegmentCounts::totals() const {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i % sums.size()] += counts[i];
  return sums;
}

SegmentCounts TranslationMetric::count_corpus(Lines hypotheses, Lines references) const {
  return count_lines(*this, hypotheses, {references});
}

SegmentCounts TranslationMetric::count_corpus(Lines hypotheses,
                                              std::span<const std::vector<std::string>> references) const {
  return count_lines(*this, hypotheses, {references.begin(), references.end()});
}

std::string metric_signature(std::int64_t num_references, const std::optional<BootstrapOptions>& bootstrap,
                             bool lowercase, std::string_view of_metric) {
  const std::string resamples = bootstrap ? fmt::format("bs:{}|seed:{}|", bootstrap->samples, bootstrap->seed) : "";
  return fmt::format("nrefs:{}|{}case:{}|{}|version:bough-{}", num_references, resamples, lowercase ? "lc" : "mixed",
                     of_metric, build_information().version);
}

}  // namespace bough
