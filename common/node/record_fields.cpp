#include "common/node/record_fields.h"

namespace vfrail {

Result<std::string> text_of(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key));
  if (!text) return reader.error(key, "missing");
  return std::move(*text);
}

Result<MacAddress> mac_of(ObjectReader& reader, std::string_view key) {
  const std::string text = TRY(text_of(reader, key));
  if (text.empty()) return MacAddress{};
  const auto mac = MacAddress::parse(text);
  if (!mac) return reader.error(key, "is not a link-layer address");
  return *mac;
}

Result<IfName> ifname_of(ObjectReader& reader, std::string_view key) {
  auto name = IfName::parse(TRY(text_of(reader, key)));
  if (!name) return reader.error(key, "is not an interface name");
  return std::move(*name);
}

Result<int64_t> number_of(ObjectReader& reader, std::string_view key, int64_t max) {
  const auto number = TRY(reader.integer(key, 0, max));
  if (!number) return reader.error(key, "missing");
  return *number;
}

Json format_addresses(const std::vector<IpAddress>& addresses) {
  Json out = Json::array();
  for (const IpAddress& one : addresses) out.push(one.cidr());
  return out;
}

Result<std::vector<IpAddress>> addresses_of(ObjectReader& reader) {
  std::vector<IpAddress> out;
  for (const std::string& text : TRY(reader.texts("addresses")).value_or(std::vector<std::string>())) {
    const auto address = IpAddress::parse_cidr(text);
    if (!address) return reader.error("addresses", "is not an address with a prefix");
    out.push_back(*address);
  }
  return out;
}

}  // namespace vfrail
