#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tasks/task.h"

/// What a run reads that its configuration only names: the content of data files and the graph that a pattern builds.
/// Both may change behind the same name, and then runs must be neither resumed nor compared.
namespace bough::runner {

/// Name of the note in checkpoints: inputs as JSON.
inline constexpr const char* inputs_note = "inputs";

/// A file, or a folder of files, by what is in it.
struct DataFile {
  std::string name;  ///< as the experiment has it
  std::int64_t bytes = 0;
  /// 64-bit FNV-1a of all bytes, 16 hexadecimal digits; of a folder over the name, the size and the bytes of each file
  /// in it and in folders below, by name.
  std::string hash;
  bool operator==(const DataFile&) const = default;
};

struct RunInputs {
  std::vector<DataFile> data_files = {};  ///< none for texts that are made in the program
  /// FNV-1a, as above, over edges, relations, levels, head groups and stages at the length of training; empty in
  /// results of earlier versions.
  std::string graph = {};
  bool operator==(const RunInputs&) const = default;
};
nlohmann::json to_json(const RunInputs& inputs);
/// What is missing stays empty. json::exception for something of another type.
RunInputs run_inputs_from(const nlohmann::json& entry);

/// Looks at the inputs of runs; each file is read and each graph is built once, however many runs have it.
class InputReader {
 public:
  /// Files and folders are the texts in the task's settings that name one (tasks::find_data_file), but for those at
  /// "kind". IoError for a file that cannot be read; whatever the generator throws.
  RunInputs read(const tasks::Task& task, const tasks::RunSettings& settings);

 private:
  DataFile file(const std::string& name, const std::string& path);

  std::map<std::string, DataFile> files_;      ///< by path
  std::map<std::string, std::string> graphs_;  ///< by specification and length
};

/// How the inputs of a run have changed, as the end of a sentence that begins with "it"; empty if they have not. What
/// one of the two does not know is not compared.
std::string why_other_inputs(const RunInputs& before, const RunInputs& now);

/// Fingerprint of an attention graph, as RunInputs::graph has it. O(nodes + edges).
std::string graph_fingerprint(const AttentionGraph& graph);

}  // namespace bough::runner
