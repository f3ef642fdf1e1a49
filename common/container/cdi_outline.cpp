#include "common/container/cdi_outline.h"

#include <filesystem>

namespace vfrail {

namespace {

const Json::Array& array_of(const Json* json, const char* key) {
  static const Json::Array kNone;
  const Json* value = json == nullptr ? nullptr : json->find(key);
  return value == nullptr || value->as_array() == nullptr ? kNone : *value->as_array();
}

std::string text_of(const Json& json, const char* key) {
  const Json* value = json.find(key);
  return value == nullptr || value->as_text() == nullptr ? std::string() : *value->as_text();
}

const Json::Array& hooks_of_edits(const Json& of) { return array_of(of.find("containerEdits"), "hooks"); }

Json edits_of(const Json& of) {
  Json hooks = Json::array();
  for (const Json& hook : hooks_of_edits(of)) hooks.push(Json::object().set("path", text_of(hook, "path")));
  return Json::object().set("hooks", std::move(hooks));
}

}  // namespace

std::vector<std::string> hooks_of(const Json& spec) {
  std::vector<std::string> out;
  const auto add = [&](const Json& of) {
    for (const Json& hook : hooks_of_edits(of))
      out.push_back(std::filesystem::path(text_of(hook, "path")).lexically_normal().string());
  };
  add(spec);
  for (const Json& device : array_of(&spec, "devices")) add(device);
  return out;
}

Json outline_of(const Json& spec) {
  Json devices = Json::array();
  for (const Json& device : array_of(&spec, "devices"))
    devices.push(Json::object().set("name", text_of(device, "name")).set("containerEdits", edits_of(device)));
  return Json::object()
      .set("kind", text_of(spec, "kind"))
      .set("containerEdits", edits_of(spec))
      .set("devices", std::move(devices));
}

}  // namespace vfrail
