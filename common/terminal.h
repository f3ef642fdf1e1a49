// The properties of stdout for people: width, colours, characters that draw trees.
#pragma once

#include <cstddef>
#include <string>

namespace vfrail {

struct Terminal {
  size_t width = 80;  // columns; 0: lines end where they end
  bool colours = false;
  bool utf8 = false;
};

// The terminal that stdout is. Without one, as in a pipe or in `kubectl exec` without -t: COLUMNS if it is
// set, else as wide as it takes, and no colours. NO_COLOR (no-color.org) and a TERM of "dumb" switch colours
// off.
Terminal find_terminal();

// The text in lines of `width` columns at most where blanks allow it, all but the first indented. Several
// blanks stay several.
std::string wrapped(const std::string& text, size_t width, size_t indent);

// Columns that a text takes: its characters, each of them one wide.
size_t display_width(const std::string& text);

}  // namespace vfrail
