#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace bough {

/// What the user may have meant: the known name with the fewest edits (insertions, deletions, replacements and swaps of
/// neighbours), the first of equals; empty if none is close, that is within a third of the longer length, at least 1,
/// and within most_edits. Without most_edits also the name in other capitals, by its initials ("lr" for
/// "learning_rate") or after further words ("num_heads" for "heads"), if none is close. The hint at the end of an error
/// about an unknown name.
std::string nearest_name(std::string_view wanted, std::span<const std::string> known,
                         std::size_t most_edits = std::numeric_limits<std::size_t>::max());

/// The hint itself: ", did you mean 'graph'?", or nothing if no known name is close.
std::string did_you_mean(std::string_view wanted, std::span<const std::string> known);

}  // namespace bough
