#include "common/ids.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace vfrail {

namespace {

template <class T>
bool parse_hex(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

bool all_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void append_hex(std::string& out, uint32_t value, size_t width) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (; value != 0 || digits.size() < width; value >>= 4) digits.insert(digits.begin(), kDigits[value & 15]);
  out += digits;
}

}  // namespace

std::string PciAddress::text() const {
  std::string out;
  append_hex(out, domain, 4);
  out += ':';
  append_hex(out, bus, 2);
  out += ':';
  append_hex(out, device, 2);
  out += '.';
  append_hex(out, function, 1);
  return out;
}

std::optional<PciAddress> PciAddress::parse(std::string_view text) {
  // 4 to 8 digits of domain, then ":bb:dd.f", which has 8 characters.
  if (text.size() < 12 || text.size() > 16) return std::nullopt;
  const std::string_view domain = text.substr(0, text.size() - 8);
  const std::string_view rest = text.substr(text.size() - 8);
  if (rest[0] != ':' || rest[3] != ':' || rest[6] != '.') return std::nullopt;
  PciAddress out;
  if (!all_hex(domain) || !parse_hex(domain, out.domain)) return std::nullopt;
  if (!all_hex(rest.substr(1, 2)) || !parse_hex(rest.substr(1, 2), out.bus)) return std::nullopt;
  if (!all_hex(rest.substr(4, 2)) || !parse_hex(rest.substr(4, 2), out.device)) return std::nullopt;
  if (!parse_hex(rest.substr(7, 1), out.function)) return std::nullopt;
  if (out.device > 31 || out.function > 7) return std::nullopt;
  return out;
}

std::string MacAddress::text() const {
  std::string out;
  for (const uint8_t byte : bytes) {
    if (!out.empty()) out += ':';
    append_hex(out, byte, 2);
  }
  return out;
}

bool MacAddress::all_zero() const {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

namespace {

// "0200.0000.0001": two bytes a group, four or more groups of them with a dot between.
std::optional<MacAddress> parse_dotted(std::string_view text) {
  if (text.size() != 3 * 5 - 1 && text.size() != 10 * 5 - 1) return std::nullopt;
  MacAddress out;
  for (size_t at = 0; at < text.size(); at += 5) {
    if (at > 0 && text[at - 1] != '.') return std::nullopt;
    for (const size_t digits : {at, at + 2}) {
      uint8_t byte = 0;
      if (!parse_hex(text.substr(digits, 2), byte)) return std::nullopt;
      out.bytes.push_back(byte);
    }
  }
  return out;
}

}  // namespace

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
  if (text.size() > 4 && text[4] == '.') return parse_dotted(text);
  if (text.size() != 6 * 3 - 1 && text.size() != 20 * 3 - 1) return std::nullopt;
  const char separator = text[2];
  if (separator != ':' && separator != '-') return std::nullopt;
  MacAddress out;
  for (size_t at = 0; at < text.size(); at += 3) {
    uint8_t byte = 0;
    if (at > 0 && text[at - 1] != separator) return std::nullopt;
    if (!all_hex(text.substr(at, 2)) || !parse_hex(text.substr(at, 2), byte)) return std::nullopt;
    out.bytes.push_back(byte);
  }
  return out;
}

std::optional<IfName> IfName::parse(std::string_view text) {
  if (text.empty() || text.size() > 15 || text == "." || text == "..") return std::nullopt;
  const bool forbidden = std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return c == '/' || c == ':' || c == '%' || c == 0 || std::isspace(c) != 0;
  });
  return forbidden ? std::nullopt : std::optional(IfName(std::string(text)));
}

std::optional<RdmaName> RdmaName::parse(std::string_view text) {
  const bool is_file =
      !text.empty() && text.find('/') == std::string_view::npos && text != "." && text != "..";
  return is_file ? std::optional(RdmaName(std::string(text))) : std::nullopt;
}

Result<DeviceId> DeviceId::parse(std::string_view text) {
  const bool allowed = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == ':' || c == '-';
  });
  if (text.empty() || text.size() > 63 || !allowed || text == "." || text == "..") {
    return Error{Errc::invalid, 0,
                 "\"" + std::string(text.substr(0, 80)) +
                     "\" is not a device id: use a PCI address (0000:03:02.1) or an auxiliary device "
                     "(mlx5_core.sf.4) of at most 63 characters"};
  }
  DeviceId out;
  // The kernel writes PCI addresses in lower case; users do not always. lspci and people omit the domain
  // 0000.
  const bool short_form = text.size() == 7 && PciAddress::parse("0000:" + std::string(text));
  const auto pci = short_form ? PciAddress::parse("0000:" + std::string(text)) : PciAddress::parse(text);
  out.text_ = pci ? pci->text() : std::string(text);
  return out;
}

}  // namespace vfrail
