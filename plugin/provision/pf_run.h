// PfRun: the steps of one PF, one after the other.
#pragma once

#include "plugin/provision/run.h"

#include <set>

namespace vfrail::plugin {

class PfRun {
 public:
  // All outlive this.
  PfRun(const PfPlan& plan, const ProvisionWorld& world) : plan_(plan), world_(world) {}
  PfResult run();

 private:
  Result<> do_step(const ProvisionStep& step);
  Result<> change_link(const LinkChange& change);
  Result<int> link_index();
  Result<> await_vfs(uint32_t count) const;
  Result<> set_vf(uint32_t vf, const VfSettings& settings);
  Result<> set_each(int link, uint32_t vf, const VfSettings& settings, const Error& together);
  Result<std::string> address_of(uint32_t vf) const;
  Result<> unbind(uint32_t vf) const;
  Result<> bind(const ProvisionStep& step) const;
  size_t bind_from(size_t first, PfResult& out);
  Result<> write_pf(const char* file, uint32_t number) const;

  const PfPlan& plan_;
  const ProvisionWorld& world_;
  std::unique_ptr<Kernel> kernel_;
  // VFs whose GUID could not be set, or that keep the driver that they have: nothing more is done with them.
  std::set<uint32_t> not_bound_;
};

}  // namespace vfrail::plugin
