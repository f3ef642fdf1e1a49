#include "cni/baseline/baseline.h"
#include "common/json.h"

namespace vfrail::cni {

namespace {

constexpr int64_t kSchema = 1;
constexpr size_t kMaxBaselineBytes = 1 << 20;

Json format_group(const EthtoolSettings& settings) {
  Json out = Json::object();
  for (const auto& [name, value] : settings.numbers) out.set(name, value);
  if (settings.bit_count == 0) return out;
  Json bits = Json::array();
  for (const uint32_t word : settings.bits) bits.push(word);
  return out.set("bits", std::move(bits)).set("bitCount", settings.bit_count);
}

Result<EthtoolSettings> parse_settings(const Json::Object& object, const std::string& path) {
  EthtoolSettings out;
  ObjectReader reader(object, path);
  if (const Json::Array* bits = TRY(reader.array("bits"))) {
    for (const Json& word : *bits) {
      const int64_t* number = word.as_int();
      if (number == nullptr || *number < 0 || *number > UINT32_MAX)
        return reader.error("bits", "must be numbers of 32 bits");
      out.bits.push_back(static_cast<uint32_t>(*number));
    }
    out.bit_count = static_cast<uint32_t>(TRY(reader.integer("bitCount", 0, UINT32_MAX)).value_or(0));
    if (out.bits.size() != (size_t{out.bit_count} + 31) / 32)
      return reader.error("bitCount", "is not that of bits");
  }
  for (const std::string& name : reader.unread())
    out.numbers[name] = static_cast<uint32_t>(TRY(reader.integer(name, 0, UINT32_MAX)).value_or(0));
  return out;
}

// They become paths below an interface's folder that root writes to.
bool is_below(const std::string& file) {
  return !file.empty() && !file.starts_with("/") && file.find("..") == std::string::npos;
}

Result<> parse_files(const Json::Object& object, InterfaceFiles& out) {
  ObjectReader reader(object, "files");
  for (const auto& [name, value] : object) {
    if (!is_below(name) || value.as_text() == nullptr)
      return reader.error(name,
                          "must be a path below the interface's folder, with the file's text as a string");
    out[name] = *value.as_text();
  }
  return {};
}

Result<> parse_groups(const Json::Object& object, Baseline& out) {
  ObjectReader reader(object, "ethtool");
  for (const auto& [name, value] : object) {
    const auto group = parse_group(name);
    if (!group || value.as_object() == nullptr)
      return reader.error(name, "must be a group of ethtool's settings, with an object");
    out.ethtool[*group] = TRY(parse_settings(*value.as_object(), reader.path(name)));
  }
  return {};
}

Result<> parse_device(ObjectReader& reader, Baseline& out) {
  out.boot_id = TRY(reader.text("bootId")).value_or("");
  out.device_key = TRY(reader.text("deviceKey")).value_or("");
  if (const auto device = TRY(reader.text("device"))) out.device = TRY(DeviceId::parse(*device), "device");
  if (const auto port = TRY(reader.integer("port", 0, UINT16_MAX))) out.port = static_cast<uint32_t>(*port);
  const Json::Object* link = TRY(reader.object("link"));
  if (link == nullptr) return reader.error("link", "missing");
  out.link = TRY(parse_link_before(*link));
  if (const Json::Object* vf = TRY(reader.object("vf"))) out.vf = TRY(parse_vf_before(*vf));
  out.ethtool_family = static_cast<uint16_t>(TRY(reader.integer("ethtoolFamily", 0, UINT16_MAX)).value_or(0));
  return {};
}

}  // namespace

std::string format_baseline(const Baseline& baseline) {
  Json out;
  out.set("schema", kSchema).set("bootId", baseline.boot_id).set("deviceKey", baseline.device_key);
  out.set("device", baseline.device ? Json(baseline.device->text()) : Json());
  out.set("port", baseline.port ? Json(*baseline.port) : Json());
  out.set("link", format_link(baseline.link));
  out.set("ethtoolFamily", int{baseline.ethtool_family});
  if (baseline.vf) out.set("vf", format_vf(*baseline.vf));
  Json groups = Json::object();
  for (const auto& [group, settings] : baseline.ethtool)
    groups.set(group_name(group), format_group(settings));
  Json files = Json::object();
  for (const auto& [name, text] : baseline.files) files.set(name, text);
  out.set("ethtool", std::move(groups)).set("files", std::move(files));
  return out.pretty() + "\n";
}

Result<Baseline> parse_baseline(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxBaselineBytes));
  ObjectReader reader(*json.as_object(), "");
  TRY(reader.schema(kSchema));
  Baseline out;
  TRY(parse_device(reader, out));
  if (const Json::Object* groups = TRY(reader.object("ethtool"))) TRY(parse_groups(*groups, out));
  if (const Json::Object* files = TRY(reader.object("files"))) TRY(parse_files(*files, out.files));
  return out;
}

}  // namespace vfrail::cni
