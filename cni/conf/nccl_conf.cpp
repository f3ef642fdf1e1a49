// The part of the network configuration for programs that use NCCL.
#include "cni/conf/net_conf.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxVariables = 64;
constexpr size_t kMaxNameBytes = 128;
// NCCL reads lines of VARIABLE=VALUE (initEnvFunc() in misc/param.cc), and cuts a longer value.
constexpr size_t kMaxNcclValueBytes = 1023;
constexpr std::string_view kPrefix = "NCCL_";

bool valid_variable(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return name.size() > kPrefix.size() && name.size() <= kMaxNameBytes && name.starts_with(kPrefix) &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Result<NcclVariables> read_nccl(ObjectReader& conf) {
  NcclVariables out;
  const Json::Object* object = TRY(conf.object("nccl"));
  if (object == nullptr) return out;
  if (object->size() > kMaxVariables) {
    return conf.error("nccl", "at most " + std::to_string(kMaxVariables) +
                                  " variables are allowed, this has " + std::to_string(object->size()));
  }
  ObjectReader reader(*object, conf.path("nccl"));
  for (const auto& [name, value] : *object) {
    if (!valid_variable(name)) {
      return reader.error(
          name.substr(0, kMaxNameBytes),
          "must be a variable of NCCL: NCCL_ and upper-case letters, digits or _ (NCCL_IB_TC)");
    }
    const std::string* text = value.as_text();
    if (text == nullptr) {
      return reader.error(name, std::string("must be a string in quotation marks (\"106\"), got ") +
                                    value.type_name() + " (" + value.text().substr(0, 40) + ")");
    }
    if (text->size() > kMaxNcclValueBytes ||
        text->find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
      return reader.error(name, "must be a value of one line, at most " + std::to_string(kMaxNcclValueBytes) +
                                    " bytes, this has " + std::to_string(text->size()));
    }
    out.emplace_back(name, *text);
  }
  return out;
}

}  // namespace vfrail::cni
