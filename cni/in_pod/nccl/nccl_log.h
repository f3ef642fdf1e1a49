// NcclLog: what a log of NCCL with NCCL_DEBUG=INFO says about the network that NCCL took, each fact with its
// first line. The log can be that of several processes, whose lines are mixed.
#pragma once

#include "common/errors/symptom_search.h"
#include "common/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::pod {

struct NcclLogLine {
  size_t number = 0;  // from 1 on
  std::string text;   // from "NCCL" on, cut
};

// A line "NET/IB : Using [0]mlx5_2:1/RoCE ...".
struct NcclDevices {
  NcclLogLine line;
  std::vector<std::string> names;  // "mlx5_2:1"
};

struct NcclLog {
  size_t lines = 0;                             // of NCCL
  SymptomSearch symptoms = {};                  // messages of failures, of others than NCCL too
  std::optional<NcclLogLine> warning;           // "NCCL WARN ...", of which the table of symptoms has nothing
  size_t warnings = 0;                          // of this kind
  std::optional<NcclLogLine> plugin;            // "Using network Libfabric": of a network plugin
  std::string plugin_name;                      // "Libfabric", "gIB"
  std::optional<NcclDevices> fewest_devices;    // of all such lines
  std::optional<NcclLogLine> without_gpu_rdma;  // a channel "via NET/IB/0" without "/GDRDMA"
  size_t channels_without_gpu_rdma = 0;
  size_t channels = 0;  // via NET/IB
};

inline constexpr size_t kMaxNcclLine = 4096;            // what is longer is cut
inline constexpr size_t kMaxNcclLog = size_t{1} << 28;  // bytes that are read

// The next line of the log. Pure.
void add_nccl_line(NcclLogLine line, NcclLog& log);

// Errc::invalid: it is longer than kMaxNcclLog.
Result<NcclLog> read_nccl_log(const std::string& path);

}  // namespace vfrail::pod
