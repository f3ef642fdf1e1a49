// The mode of a PF's eswitch (devlink-dev(8)). A value.
#pragma once

#include <cstdint>

namespace vfrail {

enum class EswitchMode : uint8_t { legacy, switchdev };

inline const char* eswitch_name(EswitchMode mode) {
  return mode == EswitchMode::legacy ? "legacy" : "switchdev";
}

}  // namespace vfrail
