// The peers' formats, one file each. Every function reads its part of the top-level object, if present, and
// adds its resources to the configuration. Errors name the entry: "configList[0] (rdma/hca): ...".
#pragma once

#include "common/json.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/config/warnings.h"

#include <string>

namespace vfrail::plugin {

// sriov-network-device-plugin: each device is a unit, in one pool only.
Result<> read_resource_list(ObjectReader& top, const ConfigOptions& options, Config& out);
// k8s-rdma-shared-dev-plugin: a number of units, each with all devices of the pool.
Result<> read_config_list(ObjectReader& top, const ConfigOptions& options, Config& out);
// k8s-rdma-sriov-dev-plugin and its descendants: one resource, rdma/hca or rdma/vhca.
Result<> read_mode(ObjectReader& top, const ConfigOptions& options, Config& out);

// What the two lists have in common: an entry with a name, read by `parse`.
class ListEntry {
 public:
  // `list` names the list in messages.
  ListEntry(std::string list, size_t index, const Json& json, const ConfigOptions& options, Config& out)
      : list_(std::move(list)), index_(index), json_(json), options_(options), out_(out) {}

  using Parse = Result<> (*)(ObjectReader& reader, ResourceConfig& resource, ConfigWarnings& warnings);
  // A faulty entry is skipped; under strict it is an error.
  Result<> read(const std::string& default_prefix, Parse parse) const;

 private:
  // `full_name` is set as soon as it is known.
  Result<> read_entry(const std::string& default_prefix, Parse parse, std::string& full_name) const;
  void remark_selection(const ObjectReader& reader, const ResourceConfig& resource,
                        ConfigWarnings& warnings) const;
  std::string place(const std::string& resource) const;

  const std::string list_;
  const size_t index_;
  const Json& json_;
  const ConfigOptions& options_;
  Config& out_;
};

// An error about `key` if another resource has that name.
Result<> check_unique(const Config& config, const ResourceConfig& added, const ObjectReader& reader,
                      std::string_view key);

// Far more than a node has network functions.
inline constexpr size_t kMaxResources = 256;

// The list of that name; null if there is none. What is there instead of a list is an error, unless the other
// list has entries.
Result<const Json::Array*> read_list(ObjectReader& top, const char* name);

}  // namespace vfrail::plugin
