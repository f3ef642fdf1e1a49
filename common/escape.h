// Makes names of others safe to print: no terminal interprets anything in them, and they stay on one line.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace vfrail {

// The text as a terminal, a log or a label may show it, on one line: "\x1b" for each byte of a character that
// is not printable: a control character (C0, DEL, C1), one that turns, joins or hides text (Unicode's
// bidirectional and invisible formats), a line end, or invalid UTF-8. The kernel accepts nearly every byte in
// the name of an interface (dev_valid_name()) and every one in that of an RDMA device (ib_device_rename()),
// and a pod renames both. A backslash stays unchanged, so escaping twice changes nothing.
std::string escaped(std::string_view text);
// A text of JSON, whose writer has escaped control characters below blank, with "\u009b" and the like for
// every other character that escaped() replaces; parsers read it as the same character.
std::string escaped_json(std::string json);

}  // namespace vfrail
