// sriov-network-operator's file of GUIDs.
#include "common/json.h"
#include "common/kernel/vf_settings.h"
#include "plugin/provision/node.h"

namespace vfrail::plugin {

namespace {

// As many as a PF has VFs by the PCI specification.
constexpr uint64_t kMostGuids = 65'535;

Result<uint64_t> read_guid(const ObjectReader& reader, const char* key, const std::string& text) {
  const auto guid = parse_guid(text);
  return guid ? Result<uint64_t>(*guid) : reader.error(key, "\"" + text.substr(0, 64) + "\" is not a GUID");
}

Result<std::vector<uint64_t>> read_guids(ObjectReader& reader) {
  std::vector<uint64_t> out;
  for (const std::string& text : TRY(reader.texts("guids")).value_or(std::vector<std::string>()))
    out.push_back(TRY(read_guid(reader, "guids", text)));
  const auto first = TRY(reader.text("rangeStart"));
  const auto last = TRY(reader.text("rangeEnd"));
  if (!out.empty() || !first || !last) return out;
  const uint64_t begin = TRY(read_guid(reader, "rangeStart", *first));
  const uint64_t end = TRY(read_guid(reader, "rangeEnd", *last));
  for (uint64_t i = 0; i < kMostGuids && begin + i <= end && begin + i >= begin; ++i)
    out.push_back(begin + i);
  return out;
}

}  // namespace

Result<std::vector<uint64_t>> parse_guid_file(std::string_view text, const PciAddress& pf,
                                              const std::string& mac) {
  const Json json = TRY(Json::parse(text));
  if (json.as_array() == nullptr) return Error{Errc::invalid, 0, "must be a list"};
  for (size_t i = 0; i < json.as_array()->size(); ++i) {
    const Json::Object* object = (*json.as_array())[i].as_object();
    const std::string place = "[" + std::to_string(i) + "]";
    if (object == nullptr) return Error{Errc::invalid, 0, place + ": must be an object"};
    ObjectReader reader(*object, place);
    const auto address = PciAddress::parse(TRY(reader.text("pciAddress")).value_or(""));
    const std::string guid = TRY(reader.text("pfGuid")).value_or("");
    if (address == pf || (!guid.empty() && guid == mac)) return read_guids(reader);
  }
  return std::vector<uint64_t>();
}

}  // namespace vfrail::plugin
