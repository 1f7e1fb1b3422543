#pragma once

#include <string>
#include <vector>

namespace bough {

/// The file that a path in an experiment means: an absolute path itself, a relative one the first of folder/path that
/// exists. A path may go on behind a tar archive (see archive_member). IoError naming every place that was looked at if
/// there is none.
std::string find_data_file(const std::string& path, const std::vector<std::string>& folders);

}  // namespace bough
