// AutoprobeRecord: that a PF's sriov_drivers_autoprobe was switched off by `vfrail provision`, and what it
// was before: written before the first change, removed after the last, so that a run that is killed in
// between is put right by the next one. A file for each PF: FOLDER/0000:21:00.0.json.
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <optional>
#include <string>

namespace vfrail::plugin {

class AutoprobeRecords {
 public:
  // `boot`: of now (boot_id()); the value does not outlive a boot, and a record of another counts as none.
  AutoprobeRecords(std::string folder, std::string boot)
      : folder_(std::move(folder)), boot_(std::move(boot)) {}

  // What autoprobe was. No value if there is no record; one that cannot be read says 1, the kernel's default.
  Result<std::optional<bool>> load(const PciAddress& pf) const;
  Result<> save(const PciAddress& pf, bool autoprobe) const;
  Result<> remove(const PciAddress& pf) const;

  const std::string& folder() const { return folder_; }

 private:
  std::string path(const PciAddress& pf) const { return folder_ + "/" + pf.text() + ".json"; }
  std::string folder_;
  std::string boot_;
};

}  // namespace vfrail::plugin
