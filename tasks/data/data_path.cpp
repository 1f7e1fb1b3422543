#include "tasks/data/data_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "tasks/data/archive.h"

namespace bough {

std::string find_data_file(const std::string& path, const std::vector<std::string>& folders) {
  const std::filesystem::path given(path);
  std::vector<std::string> places;
  if (given.is_absolute()) {
    places.push_back(path);
  } else {
    for (const std::string& folder : folders) places.push_back((std::filesystem::path(folder) / given).string());
  }
  for (const std::string& place : places) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored) || archive_member(place)) return place;
  }
  throw IoError("data",
                fmt::format("there is no file '{}'; looked for {}; --data (RunOptions::data_folders) names the folder "
                            "with the data",
                            path, places.empty() ? "it nowhere" : fmt::format("{}", fmt::join(places, ", "))));
}

}  // namespace bough
