#pragma once

#include <string>

namespace bough::cli {

/// Shows a page, a file or an address, to a person who sits in front of a screen: on a terminal with a display, by
/// xdg-open. Does nothing otherwise.
void open_page(const std::string& page);

}  // namespace bough::cli
