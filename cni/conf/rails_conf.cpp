// The part of the network configuration for a unit of several devices (common/container/allocated_unit.h).
#include "cni/conf/net_conf.h"
#include "common/ids.h"
#include "common/one_of.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

constexpr std::string_view kNumber = "RAIL";
constexpr std::string_view kInterface = "IFNAME";

std::string replaced(std::string text, std::string_view word, const std::string& with) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += with.size())
    text.replace(at, word.size(), with);
  return text;
}

}  // namespace

std::string RailSettings::ifname_of(const std::string& first, size_t rail) const {
  if (rail == 0) return first;
  return with_rail(replaced(ifname, kInterface, first), rail);
}

std::string with_rail(const std::string& text, size_t rail) {
  return replaced(text, kNumber, std::to_string(rail));
}

Result<RailSettings> read_rails(ObjectReader& conf) {
  RailSettings out;
  const Json::Object* object = TRY(conf.object("rails"));
  if (object == nullptr) return out;
  ObjectReader reader(*object, conf.path("rails"));
  out.ifname = TRY(reader.text("ifname")).value_or(out.ifname);
  if (out.ifname.find(kNumber) == std::string::npos || !IfName::parse(with_rail(out.ifname, 1))) {
    return reader.error("ifname",
                        "must be an interface name with RAIL for the number of the rail, and may have "
                        "IFNAME for the name of the first one (IFNAMErRAIL, railRAIL)");
  }
  out.resource = TRY(reader.text("resource")).value_or("");
  const Json::Array* ipam = TRY(reader.array("ipam"));
  if (ipam != nullptr && ipam->size() > kMaxRails)
    return reader.error("ipam", "at most " + std::to_string(kMaxRails) + " rails are allowed");
  for (size_t i = 0; ipam != nullptr && i < ipam->size(); ++i) {
    if ((*ipam)[i].as_object() == nullptr) {
      return reader.error("ipam[" + std::to_string(i) + "]",
                          "must be an object with the keys of ipam that differ for this rail");
    }
    out.ipam.push_back((*ipam)[i]);
  }
  if (const auto unread = reader.unread(); !unread.empty())
    return reader.error(unread.front(),
                        "unknown key; " + must_be_one_of({"ifname", "ipam", "resource"}, unread.front()));
  return out;
}

}  // namespace vfrail::cni
