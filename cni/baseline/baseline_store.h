// Where baselines and the state "unclean" are: a file each for a netdev, below the state folder of
// RecordStore. Written and removed under the device's lock.
//   STATE/baselines/KEY.json    KEY@PORT for the second and later ports of a function
//   STATE/unclean/KEY.json      common/node/unclean.h
#pragma once

#include "cni/baseline/baseline.h"
#include "cni/record/record.h"
#include "common/node/unclean.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

class BaselineStore {
 public:
  explicit BaselineStore(const RecordStore& records) : folder_(records.folder()) {}

  // The baseline of a netdev; no value if there is none. Errc::protocol if it cannot be read.
  Result<std::optional<Baseline>> load(const std::string& name) const;
  Result<> save(const std::string& name, const Baseline& baseline) const;
  Result<bool> is_unclean(const std::string& name) const;
  // Why a netdev is unclean; no value if it is not unclean. Errc::protocol if the file cannot be read.
  Result<std::optional<UncleanFile>> load_unclean(const std::string& name) const;
  Result<> set_unclean(const std::string& name, const std::string& boot_id,
                       const std::vector<std::string>& reasons) const;
  Result<> set_clean(const std::string& name) const;
  // Removes baseline and unclean state: the netdev no longer exists.
  Result<> forget(const std::string& name) const;
  // The names of all baselines.
  Result<std::vector<std::string>> names() const;
  // The names of all netdevs that are unclean.
  Result<std::vector<std::string>> unclean_names() const;

 private:
  Result<> write(const std::string& folder, const std::string& name, std::string_view text) const;
  Result<std::vector<std::string>> list(const std::string& folder) const;
  std::string folder_;
};

// The name of a netdev's files, without their folder and ".json".
std::string baseline_name(const std::string& device_key, const std::optional<uint32_t>& port);
// The device's key in the name of a netdev's files.
std::string device_of(const std::string& baseline_name);

}  // namespace vfrail::cni
