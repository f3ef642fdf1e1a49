#include "cni/conf/link_settings.h"

namespace vfrail::cni {

namespace {

std::string value_text(const LinkSetting& row, uint32_t value) {
  return row.flag ? std::string(value != 0 ? "on" : "off") : std::to_string(value);
}

Result<std::optional<uint32_t>> parse_one(const LinkSetting& row, ObjectReader& conf) {
  if (row.flag) {
    const auto on = TRY(conf.boolean(row.key));
    return on ? std::optional(uint32_t{*on}) : std::nullopt;
  }
  const auto number = TRY(conf.integer(row.key, row.least, row.most));
  return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
}

}  // namespace

std::string link_settings_document() {
  std::string out = "| key | value | meaning |\n|---|---|---|\n";
  for (const LinkSetting& row : kLinkSettings) {
    const std::string values =
        row.flag ? "`true`, `false`" : std::to_string(row.least) + " to " + std::to_string(row.most);
    out += std::string("| `") + row.key + "` | " + values + " | " + row.document + " |\n";
  }
  return out;
}

Result<LinkSettings> LinkSettings::parse(ObjectReader& conf) {
  LinkSettings out;
  for (size_t i = 0; i < kLinkSettings.size(); ++i) out.values_[i] = TRY(parse_one(kLinkSettings[i], conf));
  return out;
}

std::optional<uint32_t> LinkSettings::get(const std::string& key) const {
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    if (key == kLinkSettings[i].key) return values_[i];
  }
  return std::nullopt;
}

void LinkSettings::set(const std::string& key, uint32_t value) {
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    if (key == kLinkSettings[i].key) values_[i] = value;
  }
}

void LinkSettings::override_by(const LinkSettings& others) {
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    if (others.values_[i]) values_[i] = others.values_[i];
  }
}

Result<> LinkSettings::check_kernel_has(const Link& now) const {
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    const LinkSetting& row = kLinkSettings[i];
    if (values_[i] && !row.of(now))
      return Error{Errc::unsupported, 0,
                   std::string(row.key) +
                       ": this kernel has no such setting of an interface; leave the key "
                       "out, or run a later kernel"};
  }
  return {};
}

LinkSettings LinkSettings::differing_from(const Link& now) const {
  LinkSettings out;
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    if (values_[i] && values_[i] != kLinkSettings[i].of(now)) out.values_[i] = values_[i];
  }
  return out;
}

void LinkSettings::put_into(LinkChange& change) const {
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    if (values_[i]) kLinkSettings[i].put(*values_[i], change);
  }
}

std::vector<std::string> LinkSettings::differences(const Link& now) const {
  std::vector<std::string> out;
  for (size_t i = 0; i < kLinkSettings.size(); ++i) {
    const LinkSetting& row = kLinkSettings[i];
    const auto have = row.of(now);
    if (!values_[i] || values_[i] == have) continue;
    out.push_back(now.name + ": " + row.key + " is " +
                  (have ? value_text(row, *have) : "not known to this kernel") + ", expected " +
                  value_text(row, *values_[i]));
  }
  return out;
}

}  // namespace vfrail::cni
