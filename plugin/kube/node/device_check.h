// What the API server's validation demands of the devices of a ResourceSlice: one value that it refuses costs
// a node all its devices, so that what does not pass is left out, with the reason. Pure.
#pragma once

#include "common/json.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

// What is left out and why -> the devices that had it.
using LeftOut = std::map<std::string, std::vector<std::string>>;

struct CheckedDevices {
  Json::Array devices;  // in the order given; without what is empty, which the API server does not keep
  LeftOut left_out;
};

// Parts that do not pass are left out of their device. A device is left out where its name is not valid, or
// another device has it.
CheckedDevices check_devices(const Json::Array& devices);

// https://semver.org, 2.0.0: "20.39.1002", not "20.39" and not "20.39.0102".
bool is_semantic_version(std::string_view text);
// "200G", "1.5Gi", "1e3".
bool is_quantity(std::string_view text);

}  // namespace vfrail::kube
