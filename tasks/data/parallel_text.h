#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Sentences and their translations, in documents.
namespace bough {

/// How files say where documents begin; `to_string` gives the names in JSON.
enum class DocumentFormat {
  none,        ///< they do not: a line is a sentence that stands alone
  blank_line,  ///< a blank line in both files between two documents
  marks,       ///< a line <d> in both files in front of each document
  tsv,         ///< one file: a line is title, ..., source, target with tabs; a document is lines of one title in a row
};
const char* to_string(DocumentFormat format);
/// All formats, in the order above.
std::vector<DocumentFormat> document_formats();

/// Columns of a table, from 1.
struct TableColumns {
  std::int64_t document = 1;
  std::optional<std::int64_t> source = {};  ///< default: the last but one
  std::optional<std::int64_t> target = {};  ///< default: the last
};

struct ParallelText {
  std::vector<std::string> source = {}, target = {};  ///< sentence by sentence, equally many
  std::vector<std::int32_t> documents = {};  ///< of each sentence, ascending from 0; each alone if there are none
  std::int64_t skipped = 0;                  ///< bad lines of a table that were left out

  std::int64_t num_sentences() const { return std::ssize(source); }
  std::int64_t num_documents() const { return documents.empty() ? 0 : documents.back() + 1; }
};

/// Where a parallel text is.
struct ParallelFiles {
  std::string source;  ///< path; of a table that of the table
  std::string target;  ///< path; unused for a table
};

struct ReadParallelOptions {
  DocumentFormat documents = DocumentFormat::none;
  TableColumns columns = {};  ///< of a table
  bool skip_bad = false;      ///< of a table: leave malformed lines out and count them
};

/// Reads files, plain, gzip or in an archive. Line i of one file is the translation of line i of the other. IoError
/// with the number of lines of both if they differ, with the line where a document begins in one file alone, with file
/// and line for a line of a table that lacks a column, and if there is no sentence. Linear in the size of the files.
ParallelText read_parallel_text(const ParallelFiles& files, const ReadParallelOptions& options = {});

}  // namespace bough
