// Small text functions for messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// "a, b, c".
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ");

// The parts of a text between any of those characters; empty parts are left out.
std::vector<std::string> split(std::string_view text, std::string_view separators);

bool is_utf8(std::string_view text);

// A name as Kubernetes has it (RFC 1123): at most 63 of [a-z0-9-], a letter or digit first and last.
bool is_dns_label(std::string_view text);
// Several of those between dots, at most `most` characters. The parts have no limit of their own: the API
// server has none.
bool is_dns_subdomain(std::string_view text, size_t most);

// One of 0x00 to 0x1f, or 0x7f. Nobody has written a path or a name with one on purpose.
bool has_control_characters(std::string_view text);

// The text with U+FFFD for each byte that is not part of a UTF-8 character. Texts of peers are cut and quoted
// in messages, and JSON needs valid UTF-8.
std::string well_formed(std::string_view text);

// The first few of a list: "0000:03:02.1 0000:03:02.2 and 30 more".
std::string first_few(const std::vector<std::string>& words);

// Decimal digits alone. No value: it is something else, or too large.
std::optional<uint32_t> parse_decimal(std::string_view text);

// What is behind a name in a text of lines as /proc/self/status is: "1000" of "Uid:	1000	1000". Empty:
// no such line.
std::string proc_field(std::string_view text, std::string_view name);

// "1 device", "2 devices".
std::string counted(size_t number, std::string_view noun);

}  // namespace vfrail
