#pragma once

#include <string_view>

namespace bough {

/// tools/bough/watch.js
extern const std::string_view watch_script;

}  // namespace bough
