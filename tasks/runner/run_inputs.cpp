#include "tasks/runner/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include "bough/core/errors.h"
#include "tasks/data/archive.h"
#include "tasks/data/data_path.h"

namespace bough::runner {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// FNV-1a with 64 bits (Fowler, Noll, Vo): not for secrets, but two texts with one hash do not happen by accident.
class Fnv1a {
 public:
  void add(std::span<const char> bytes) {
    for (const char byte : bytes) add_unit(static_cast<unsigned char>(byte));
  }
  /// Whole numbers are units of their own, several times faster than their bytes.
  template <typename Integer>
  void add_numbers(std::span<const Integer> numbers) {
    add_unit(numbers.size());
    for (const Integer number : numbers) add_unit(static_cast<std::uint64_t>(number));
  }
  std::string hexadecimal() const { return fmt::format("{:016x}", state_); }

 private:
  void add_unit(std::uint64_t unit) { state_ = (state_ ^ unit) * 0x100000001b3; }

  std::uint64_t state_ = 0xcbf29ce484222325;
};

void add_graph(const Graph& graph, Fnv1a& hash) {
  const CooView coo = graph.coo();
  hash.add_numbers(coo.src);
  hash.add_numbers(coo.dst);
  hash.add_numbers(std::span<const std::int32_t>(graph.edge_types()));
}

/// Adds all bytes of a file; returns how many there are.
std::int64_t add_file(const std::string& path, Fnv1a& hash) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw IoError("data", fmt::format("'{}' cannot be read", path));
  std::int64_t bytes = 0;
  std::vector<char> chunk(1 << 20);
  do {
    stream.read(chunk.data(), std::ssize(chunk));
    hash.add({chunk.data(), static_cast<std::size_t>(stream.gcount())});
    bytes += stream.gcount();
  } while (stream);
  if (stream.bad()) throw IoError("data", fmt::format("'{}' cannot be read to its end", path));
  return bytes;
}

/// Of all files in a folder and below, relative to it, by name.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file()) names.push_back(fs::path(entry->path()).lexically_relative(folder).string());
  }
  if (error) throw IoError("data", fmt::format("'{}' cannot be read: {}", folder, error.message()));
  std::ranges::sort(names);
  return names;
}

DataFile read_data_file(const std::string& name, const std::string& path) {
  DataFile file{.name = name, .bytes = 0, .hash = {}};
  Fnv1a hash;
  if (!fs::is_directory(path)) {
    file.bytes = add_file(path, hash);
  } else {
    for (const std::string& inner : files_below(path)) {
      hash.add(std::span(inner.data(), inner.size() + 1));
      const std::int64_t bytes = add_file((fs::path(path) / inner).string(), hash);
      hash.add_numbers(std::span(&bytes, 1));
      file.bytes += bytes;
    }
  }
  file.hash = hash.hexadecimal();
  return file;
}

/// All texts in a value, but for those that say what kind it is.
void collect_texts(const json& value, std::set<std::string>& texts) {
  if (value.is_string()) texts.insert(value.get<std::string>());
  if (!value.is_structured()) return;
  for (const auto& [key, entry] : value.items()) {
    if (!value.is_object() || key != "kind") collect_texts(entry, texts);
  }
}

/// The file or folder that a text names, of a file in an archive the archive; empty if it names none.
std::string path_of(const std::string& text, const std::vector<std::string>& folders) {
  if (text.empty()) return "";
  try {
    const std::string path = find_data_file(text, folders);
    std::error_code ignored;
    if (const auto member = archive_member(path)) return member->archive;
    return fs::is_regular_file(path, ignored) || fs::is_directory(path, ignored) ? path : "";
  } catch (const IoError&) {
    return "";
  }
}

}  // namespace

json to_json(const RunInputs& inputs) {
  json files = json::array();
  for (const DataFile& file : inputs.data_files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"fnv1a", file.hash}});
  }
  return {{"data_files", files}, {"graph_fnv1a", inputs.graph}};
}

RunInputs run_inputs_from(const json& entry) {
  RunInputs inputs;
  if (!entry.is_object()) return inputs;
  for (const json& file : entry.value("data_files", json::array())) {
    inputs.data_files.push_back({.name = file.at("name"), .bytes = file.at("bytes"), .hash = file.at("fnv1a")});
  }
  inputs.graph = entry.value("graph_fnv1a", "");
  return inputs;
}

RunInputs InputReader::read(const tasks::Task& task, const tasks::RunSettings& settings) {
  RunInputs inputs;
  std::set<std::string> texts;
  json values = settings.task.values();
  for (const Parameter& parameter : task.task_parameters()) {
    if (!parameter.choices.empty()) values.erase(parameter.name);  // names a choice, not a file
  }
  collect_texts(values, texts);
  for (const std::string& text : texts) {
    const std::string path = path_of(text, settings.data_folders);
    if (!path.empty()) inputs.data_files.push_back(file(text, path));
  }
  const BuildOptions options = task.graph_options(settings.task);
  std::string& graph = graphs_[fmt::format("{} {} {}", settings.graph.dump(), options.length, options.causal)];
  if (graph.empty()) graph = graph_fingerprint(generators().make(settings.graph)->build(options));
  inputs.graph = graph;
  return inputs;
}

DataFile InputReader::file(const std::string& name, const std::string& path) {
  auto known = files_.find(path);
  if (known == files_.end()) known = files_.emplace(path, read_data_file(name, path)).first;
  DataFile result = known->second;
  result.name = name;  // one file may be named in several ways
  return result;
}

std::string why_other_inputs(const RunInputs& before, const RunInputs& now) {
  for (const DataFile& file : now.data_files) {
    const auto old = std::ranges::find(before.data_files, file.name, &DataFile::name);
    if (old == before.data_files.end() || *old == file) continue;
    return fmt::format(
        "was made with another text in '{}': {} bytes with the hash {}, which are {} with the hash {} now", file.name,
        old->bytes, old->hash, file.bytes, file.hash);
  }
  if (before.graph.empty() || now.graph.empty() || before.graph == now.graph) return "";
  return "was made with another graph: its plug-in, or this version of bough, builds another graph than before";
}

std::string graph_fingerprint(const AttentionGraph& graph) {
  Fnv1a hash;
  add_graph(graph.graph, hash);
  hash.add_numbers(std::span<const std::int32_t>(graph.levels));
  for (const std::string& relation : graph.relations) hash.add(std::span(relation.data(), relation.size() + 1));
  for (const std::vector<Graph>* parts : {&graph.head_groups, &graph.stages}) {
    for (const Graph& part : *parts) add_graph(part, hash);
  }
  return hash.hexadecimal();
}

}  // namespace bough::runner
