#include "tools/bough/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "bough/core/errors.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

bool is_file_name(const std::string& path) { return !path.empty() && path != "-"; }

/// Files that are there are the same by what they are, others by where they would be.
bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code not_there;
  if (fs::equivalent(one, other, not_there)) return true;
  std::error_code unknown;
  const fs::path first = fs::weakly_canonical(fs::absolute(one), unknown);
  if (unknown) return one == other;
  const fs::path second = fs::weakly_canonical(fs::absolute(other), unknown);
  return unknown ? one == other : first == second;
}

}  // namespace

void require_separate_files(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (!is_file_name(output->path)) continue;
    for (const std::string& input : inputs) {
      if (!is_file_name(input) || !is_same_file(input, output->path)) continue;
      throw ConfigError(output->option, fmt::format("'{}' is one of the files that are read, which this would replace; "
                                                    "choose another name",
                                                    output->path));
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (!is_file_name(other->path) || !is_same_file(other->path, output->path)) continue;
      throw ConfigError(output->option, fmt::format("'{}' is what {} writes too; choose another name for one of them",
                                                    output->path, other->option));
    }
  }
}

void require_folder_for_results(const std::string& folder) {
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    throw ConfigError("--out", fmt::format("'{}' is a file; results go into a folder", folder));
  }
  fs::path there = fs::absolute(folder).lexically_normal();
  while (!fs::exists(there) && there.has_relative_path()) there = there.parent_path();
  const int problem = !fs::is_directory(there) ? ENOTDIR : ::access(there.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  if (problem == 0) return;
  throw IoError("--out", fmt::format("the folder '{}' cannot be {}: {}", folder,
                                     fs::exists(folder) ? "written to" : "made", std::strerror(problem)));
}

void make_folder_for_results(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("--out", fmt::format("the folder '{}' cannot be made: {}", folder, error.message()));
}

}  // namespace bough::cli
