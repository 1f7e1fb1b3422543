#include "bough/core/errors.h"

#include <fmt/format.h>

namespace bough {

Error::Error(std::string_view where, std::string_view message)
    : std::runtime_error(fmt::format("[{}] {}", where, message)) {}

}  // namespace bough
