#include "tasks/data/parallel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "bough/core/errors.h"
#include "tasks/data/line_reader.h"

namespace bough {
namespace {

constexpr std::string_view blanks = " \t\v\f\r", document_mark = "<d>";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  LineReader reader(path);
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  return lines;
}

/// Whether a line separates documents instead of being a sentence.
bool separates(DocumentFormat format, std::string_view line) {
  if (format == DocumentFormat::blank_line) return trimmed(line).empty();
  return format == DocumentFormat::marks && trimmed(line) == document_mark;
}

ParallelText read_pair(const ParallelFiles& files, DocumentFormat format) {
  std::vector<std::string> source = read_lines(files.source), target = read_lines(files.target);
  if (source.size() != target.size()) {
    throw IoError("data", fmt::format("'{}' has {} lines and '{}' has {}, so they do not pair up; line i of one file "
                                      "must be the translation of line i of the other",
                                      files.source, source.size(), files.target, target.size()));
  }
  ParallelText text;
  std::int32_t document = -1;
  bool begins = true;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool here = separates(format, source[i]), there = separates(format, target[i]);
    if (here != there) {
      const char* const what = format == DocumentFormat::marks ? "is <d>" : "is blank";
      throw IoError("data",
                    fmt::format("line {} of '{}' {} and that of '{}' is not; documents must begin at the same "
                                "lines of both files",
                                i + 1, here ? files.source : files.target, what, here ? files.target : files.source));
    }
    begins |= here || format == DocumentFormat::none;
    if (here) continue;
    document += begins ? 1 : 0;
    begins = false;
    text.source.push_back(std::move(source[i]));
    text.target.push_back(std::move(target[i]));
    text.documents.push_back(document);
  }
  return text;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0;;) {
    const std::size_t tab = line.find('\t', begin);
    columns.push_back(line.substr(begin, tab == line.npos ? tab : tab - begin));
    if (tab == line.npos) return columns;
    begin = tab + 1;
  }
}

ParallelText read_table(const std::string& path, const ReadParallelOptions& options) {
  ParallelText text;
  std::string title;
  std::int32_t document = -1;
  const TableColumns& wanted = options.columns;
  const std::int64_t least =
      std::max({wanted.document, wanted.source.value_or(2), wanted.target.value_or(3), std::int64_t{2}});
  text.skipped = parse_lines(path, options.skip_bad, [&](std::string_view line) {
    const std::vector<std::string_view> columns = columns_of(line);
    const auto count = std::ssize(columns);
    if (count < least) {
      throw ConfigError("data", fmt::format("the line has {} column{} and {} are needed: title, source and target with "
                                            "tabs between them",
                                            count, count == 1 ? "" : "s", least));
    }
    const auto column = [&columns](std::int64_t number) { return columns[static_cast<std::size_t>(number - 1)]; };
    const std::string_view own = column(wanted.document);
    if (document < 0 || own != title) {
      ++document;
      title = own;
    }
    text.source.emplace_back(column(wanted.source.value_or(count - 1)));
    text.target.emplace_back(column(wanted.target.value_or(count)));
    text.documents.push_back(document);
  });
  return text;
}

}  // namespace

const char* to_string(DocumentFormat format) {
  switch (format) {
    case DocumentFormat::none:
      return "none";
    case DocumentFormat::blank_line:
      return "blank_line";
    case DocumentFormat::marks:
      return "marks";
    case DocumentFormat::tsv:
      return "tsv";
  }
  return "";
}

std::vector<DocumentFormat> document_formats() {
  return {DocumentFormat::none, DocumentFormat::blank_line, DocumentFormat::marks, DocumentFormat::tsv};
}

ParallelText read_parallel_text(const ParallelFiles& files, const ReadParallelOptions& options) {
  ParallelText text = options.documents == DocumentFormat::tsv ? read_table(files.source, options)
                                                               : read_pair(files, options.documents);
  if (text.source.empty()) throw IoError("data", fmt::format("'{}' has no sentence", files.source));
  return text;
}

}  // namespace bough
