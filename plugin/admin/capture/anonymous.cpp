#include "plugin/admin/capture/anonymous.h"

#include "common/text.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace vfrail::plugin {

namespace {

constexpr const char* kNetwork = "000200C0";  // 192.0.2.0 as proc/net/route has it
constexpr const char* kGateway = "010200C0";
constexpr std::string_view kDocumentationIpv4 = "192.0.2.1";
constexpr const char* kDocumentation = "20010db8000000000000000000000001";
constexpr const char* kLinkLocal = "fe800000000000000000000000000001";

bool zero(std::string_view digits) { return digits.find_first_not_of("0:.") == std::string_view::npos; }

// The first byte of an address that proc/net/route prints as a little-endian number: its last two digits.
bool special_ipv4(std::string_view digits) {
  if (digits.size() != 8) return false;
  const std::string first(digits.substr(6));
  const std::string second(digits.substr(4, 2));
  return first == "7F" || (first == "A9" && second == "FE") || first >= "E0";
}

std::string ipv6(std::string_view digits) {
  if (zero(digits) || digits.starts_with("ff") || zero(digits.substr(0, digits.size() - 1)))
    return std::string(digits);  // none, multicast, loopback
  return digits.starts_with("fe8") ? kLinkLocal : kDocumentation;
}

// The first is 192.0.2.0, the others are of 198.18.0.0/15, which is for tests as well (RFC 2544).
std::string made_up_network(size_t number) {
  if (number == 0 || number >= (size_t{1} << 17)) return kNetwork;
  char out[9];
  std::snprintf(out, sizeof out, "%02zX%02zX%02zXC6", number & 0xff, number >> 8 & 0xff,
                0x12 + (number >> 16));
  return out;
}

// Changes the words of each line, and puts one space between them.
template <class Change>
std::string each_line(std::string_view text, Change change) {
  std::string out;
  for (const std::string& line : split(text, "\n")) {
    auto words = split(line, " \t");
    change(words);
    out += joined(words, " ") + "\n";
  }
  return out;
}

}  // namespace

std::string Anonymous::hardware(std::string_view text) {
  if (zero(text)) return std::string(text);
  const auto known = known_.find(text);
  if (known != known_.end()) return known->second;
  char number[17];
  std::snprintf(number, sizeof number, "%016zx", known_.size() + 1);
  // From the end, digit by digit; a MAC address begins with the bit for made-up ones (IEEE 802, U/L).
  std::string out(text);
  size_t digit = sizeof number - 1;
  for (size_t at = out.size(); at > 0; --at) {
    char& c = out[at - 1];
    if (c == ':' || c == '-') continue;
    c = digit > 0 ? number[--digit] : '0';
  }
  if (out.size() > 1 && out.find(':') == 2) out[1] = '2';
  known_.emplace(std::string(text), out);
  return out;
}

std::string Anonymous::message(std::string_view text) {
  constexpr std::string_view kOfAddresses = "0123456789abcdefABCDEF:.";
  std::string out;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_of(kOfAddresses), text.size());
    out += text.substr(0, begin);
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_not_of(kOfAddresses), text.size());
    const std::string_view run = text.substr(0, end);
    const std::string_view address = run.substr(0, run.find_last_not_of(":.") + 1);
    const auto count = [&](char c) { return std::count(address.begin(), address.end(), c); };
    // 0000:17:00.0 has two colons.
    if (count(':') > 2 || address.find("::") != std::string_view::npos)
      out += hardware(address);
    else
      out += count('.') == 3 ? kDocumentationIpv4 : address;
    out += run.substr(address.size());
    text.remove_prefix(end);
  }
  return out;
}

std::string Anonymous::route(std::string_view text) {
  std::map<std::string, std::string> networks;  // whether two interfaces are in one stays true
  return each_line(text, [&](std::vector<std::string>& words) {
    if (words.size() < 8 || words[1].size() != 8) return;
    if (!zero(words[1]) && !special_ipv4(words[1]))
      words[1] = networks.emplace(words[1], made_up_network(networks.size())).first->second;
    if (!zero(words[2])) words[2] = kGateway;
  });
}

std::string Anonymous::ipv6_route(std::string_view text) {
  return each_line(text, [](std::vector<std::string>& words) {
    for (const size_t at : {size_t{0}, size_t{2}, size_t{4}}) {
      if (words.size() > at && words[at].size() == 32) words[at] = ipv6(words[at]);
    }
  });
}

std::string Anonymous::if_inet6(std::string_view text) {
  return each_line(text, [](std::vector<std::string>& words) {
    if (!words.empty() && words[0].size() == 32) words[0] = ipv6(words[0]);
  });
}

std::string Anonymous::fib_trie(std::string_view text) {
  std::string out;
  bool of_default = false;
  for (const std::string& line : split(text, "\n")) {
    const auto words = split(line, " \t");
    if (words.empty()) continue;
    const bool table =
        line.back() == ':' && (words[0] == "Id" || words[0] == "Main:" || words[0] == "Local:");
    const bool leaf = words.size() == 2 && words[0] == "|--";
    if (leaf) of_default = words[1] == "0.0.0.0";
    const bool route = of_default && words[0] == "/0";
    if (table || (leaf && of_default) || route) out += line + "\n";
  }
  return out;
}

}  // namespace vfrail::plugin
