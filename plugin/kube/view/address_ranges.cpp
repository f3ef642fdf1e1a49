#include "plugin/kube/view/address_ranges.h"

#include "common/ip_address.h"
#include "plugin/kube/view/cluster_facts.h"

#include <algorithm>
#include <utility>

namespace vfrail::kube {

namespace {

struct Span {
  uint64_t first = 0;
  uint64_t last = 0;  // included
};

uint64_t number_of(const IpAddress& address) {
  uint64_t out = 0;
  for (const uint8_t byte : address.bytes) out = out << 8 | byte;
  return out;
}

Span span_of(const IpAddress& network) {
  const uint64_t hosts = (uint64_t{1} << (32 - network.prefix)) - 1;
  const uint64_t first = number_of(network) & ~hosts;
  return {first, first + hosts};
}

// "10.1.0.0/16", "10.1.0.5-10.1.0.9/16", "10.1.0.5": an excluded address.
std::optional<std::pair<IpAddress, std::optional<Span>>> parse_range(const std::string& text) {
  const size_t dash = text.find('-');
  auto end = IpAddress::parse_cidr(text.substr(dash == std::string::npos ? 0 : dash + 1));
  if (!end) end = IpAddress::parse(text);
  if (!end) return std::nullopt;
  if (dash == std::string::npos) return std::pair(*end, std::optional<Span>());
  const auto begin = IpAddress::parse(text.substr(0, dash));
  if (!begin || begin->v6() != end->v6()) return std::nullopt;
  if (end->v6()) return std::pair(*end, std::optional<Span>());
  return std::pair(*end, std::optional(Span{number_of(*begin), number_of(*end)}));
}

std::string pool_range(IpAddress network) {
  for (size_t bit = network.prefix; bit < network.bytes.size() * 8; ++bit)
    network.bytes[bit / 8] = static_cast<uint8_t>(network.bytes[bit / 8] & ~(0x80U >> (bit % 8)));
  return network.cidr();
}

// The addresses of `all` that no excluded span has.
uint64_t count_without(Span all, std::vector<Span> excluded) {
  std::sort(excluded.begin(), excluded.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  uint64_t out = 0;
  uint64_t next = all.first;
  for (const Span& span : excluded) {
    if (span.last < next || span.first > all.last) continue;
    if (span.first > next) out += span.first - next;
    next = std::max(next, span.last + 1);
  }
  return next > all.last ? out : out + all.last - next + 1;
}

std::optional<Span> own_span(const Json& ipam, const IpAddress& network, const std::optional<Span>& given) {
  Span out = span_of(network);
  // The network's own address and the broadcast address go to no pod.
  if (network.prefix <= 30) {
    ++out.first;
    --out.last;
  }
  const auto bound = [&](const char* key) { return IpAddress::parse(text_at(ipam, {key})); };
  if (const auto start = bound("range_start"); start && !start->v6())
    out.first = std::max(out.first, number_of(*start));
  if (const auto end = bound("range_end"); end && !end->v6()) out.last = std::min(out.last, number_of(*end));
  if (given) out = {std::max(out.first, given->first), std::min(out.last, given->last)};
  if (out.first > out.last) return std::nullopt;
  return out;
}

std::optional<AddressRange> read_range(const Json& ipam, const std::string& network_name) {
  const auto parsed = parse_range(text_at(ipam, {"range"}));
  if (!parsed) return std::nullopt;
  const auto& [network, given] = *parsed;
  AddressRange out{pool_range(network), network_name, std::nullopt};
  if (network.v6()) return out;
  const auto span = own_span(ipam, network, given);
  if (!span) return std::nullopt;
  std::vector<Span> excluded;
  for (const Json& entry : list_at(ipam, {"exclude"})) {
    const auto one = entry.as_text() == nullptr ? std::nullopt : parse_range(*entry.as_text());
    if (one && !one->first.v6()) excluded.push_back(one->second.value_or(span_of(one->first)));
  }
  out.usable = count_without(*span, std::move(excluded));
  return out;
}

}  // namespace

std::vector<AddressRange> whereabouts_ranges(const Json& ipam) {
  std::vector<AddressRange> out;
  const std::string network_name = text_at(ipam, {"network_name"});
  if (auto own = read_range(ipam, network_name)) out.push_back(*std::move(own));
  for (const Json& entry : list_at(ipam, {"ipRanges"})) {
    if (auto one = read_range(entry, network_name)) out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace vfrail::kube
