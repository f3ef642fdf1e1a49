// NcclSettings: what NCCL_* variables come to, as NCCL reads them: the environment, then $NCCL_CONF_FILE or
// ~/.nccl.conf, then /etc/nccl.conf; each value with where it comes from. Held against the real one by
// tests/nccl/run.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::pod {

using PodEnvironment = std::map<std::string, std::string>;

struct NcclValue {
  std::string text;
  std::string source;  // "the environment", "/etc/nccl.conf (vfrail: net1 net2)"
};

class NcclSettings {
 public:
  // Those that come first win. An empty value counts as set.
  void add(const std::string& name, NcclValue value) { values_.emplace(name, std::move(value)); }
  // Null: not set anywhere.
  const NcclValue* find(const std::string& name) const;
  // The text; empty if it is not set.
  std::string text(const std::string& name) const;
  // A number as strtoll() reads it; `otherwise` if it is not set, or empty.
  int64_t number(const std::string& name, int64_t otherwise) const;
  // What cannot be known without NCCL's version, a sentence; empty: nothing.
  const std::string& doubt() const { return doubt_; }
  void set_doubt(std::string doubt) { doubt_ = std::move(doubt); }
  // "NCCL_IB_HCA==mlx5_2:1 from /etc/nccl.conf".
  std::string with_source(const std::string& name) const;

 private:
  std::map<std::string, NcclValue> values_;
  std::string doubt_;
};

// One file: VAR=VALUE a line, '#' in the first column, nothing trimmed. A comment on the first line names the
// file's origin. Pure.
void add_nccl_file(const std::string& path, std::string_view text, NcclSettings& out);

Result<NcclSettings> read_nccl_settings(const SysRoot& sys, const PodEnvironment& environment);

}  // namespace vfrail::pod
