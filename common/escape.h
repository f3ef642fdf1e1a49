// What others have named, for people to read: nothing of it is obeyed by a terminal, or makes a line of its
// own. Pure.
#pragma once

#include <string>
#include <string_view>

namespace vfrail {

// The text as a terminal, a log or a label may show it, on one line: "\x1b" for each byte of what is no
// printable character, be it a control character (C0, DEL, C1), one that turns, joins or hides text
// (Unicode's bidirectional and invisible formats), a line end, or no UTF-8. The kernel takes nearly every
// byte in the name of an interface (dev_valid_name()) and every one in that of an RDMA device
// (ib_device_rename()), and a pod renames both. A backslash stays one, so escaping twice changes nothing.
std::string escaped(std::string_view text);
// The same for a text of JSON, whose writer has escaped control characters below blank: "\u009b" for those
// that are left, which mean the same to whoever parses it.
std::string escaped_json(std::string json);

}  // namespace vfrail
