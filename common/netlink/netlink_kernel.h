// NetlinkKernel: Kernel over NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_RDMA and /proc/sys/net. Decides nothing.
#pragma once

#include "common/kernel/kernel.h"
#include "common/kernel/netns.h"
#include "common/netlink/netlink.h"
#include "common/netlink/routes.h"
#include "common/unique_fd.h"

#include <cstdint>
#include <memory>

namespace vfrail {

class NetlinkKernel : public Kernel {
 public:
  // The namespace of the calling thread. The thread must call the object from that same namespace.
  static Result<std::unique_ptr<Kernel>> open_current();
  // Another namespace: enters it for a moment to open the socket, and again for RDMA moves and sysctls, which
  // the kernel does in the namespace of the calling thread. CAP_SYS_ADMIN.
  static Result<std::unique_ptr<Kernel>> open(Netns target);

  NetnsId netns_id() const override { return netns_.id(); }
  int netns_fd() const override { return netns_.fd(); }

  Result<std::optional<Link>> find_link(std::string_view name) override;
  Result<std::optional<Link>> find_link(int index) override;
  Result<std::vector<Link>> links() override;
  Result<> change_link(int index, const LinkChange& change) override;
  Result<> rename_link(const IfName& now, std::string_view wanted) override;
  Result<> add_altname(int index, std::string_view name) override;
  Result<> remove_altname(int index, std::string_view name) override;
  Result<> add_link(const NewLink& wanted) override;
  Result<> remove_links(const std::vector<int>& indices) override;
  Result<std::optional<int>> nsid_of(int netns_fd) override;
  Result<std::vector<std::string>> detach_programs(const Link& link) override;
  Result<UpperLinks> upper_links(int index, const UpperOffsets& offsets) override;
  Result<std::optional<uint16_t>> ethtool_family() override;
  Result<std::optional<EthtoolSettings>> ethtool(uint16_t family, int link, EthtoolGroup group) override;
  Result<> change_ethtool(uint16_t family, int link, EthtoolGroup group,
                          const EthtoolSettings& change) override;
  Result<std::vector<VfReport>> vfs(int pf_link) override;
  Result<> change_vf(int pf_link, uint32_t vf, const VfSettings& change) override;
  Result<std::vector<VfTraffic>> vf_traffic(int pf_link) override;
  Result<std::vector<LinkTraffic>> link_traffic() override;
  Result<> wait_for_link(Deadline deadline, const std::function<Result<bool>()>& ready) override;

  Result<> add_address(int link, const IpAddress& address, const AddressSettings& settings) override;
  Result<std::vector<LinkAddress>> addresses(int link) override;
  Result<std::vector<LinkAddress>> wait_for_dad(int link, Deadline deadline) override;
  Result<> add_route(const Route& route) override;
  Result<std::vector<Route>> routes(int link) override;
  Result<std::vector<Route>> default_routes() override;
  Result<> add_rule(const IpAddress& source, uint32_t table) override;
  Result<std::vector<RoutingRule>> rules() override;
  Result<> remove_rule(const RoutingRule& rule) override;
  Result<std::optional<std::string>> read_sysctl(std::string_view name) override;
  Result<> write_sysctl(std::string_view name, std::string_view value) override;
  Result<std::optional<std::string>> sysfs() override;
  Result<> announce(int link, const IpAddress& address) override;

  Result<std::optional<RdmaNetnsMode>> rdma_netns_mode() override;
  Result<std::optional<RdmaDevice>> find_rdma_device(std::string_view name) override;
  Result<std::vector<RdmaDevice>> rdma_devices() override;
  Result<std::vector<NamedCounter>> rdma_counters(uint32_t index, uint32_t port) override;
  Result<> move_rdma_device(uint32_t index, int netns_fd) override;
  Result<> rename_rdma_device(uint32_t index, std::string_view name) override;

 private:
  NetlinkKernel(Netns netns, Netns origin, NlSocket route)
      : netns_(std::move(netns)), origin_(std::move(origin)), route_(std::move(route)) {}
  Result<NlSocket> open_socket(int protocol) const;
  Result<NlSocket*> rdma();         // opened when first needed; null: this kernel has no RDMA subsystem
  Result<NlSocket*> needed_rdma();  // never null: without the subsystem an error
  Result<NlSocket*> generic();      // opened when first needed
  Result<> remove_xdp(const Link& link, uint32_t mode);
  Result<> change_altname(NlMessage message, std::string_view name);
  Result<std::optional<Link>> find_link(const NlMessage& message, const std::string& what);
  Result<> name_parent(Link& link);
  Result<int> ioctls();  // the descriptor, opened when first needed
  Result<std::vector<Route>> list_routes(ListedRoutes listed);

  Netns netns_;
  Netns origin_;  // where the thread lives
  NlSocket route_;
  std::optional<NlSocket> rdma_;
  std::optional<NlSocket> generic_;
  UniqueFd ioctls_;  // a socket for the ioctls of ethtool and of names
  UniqueFd sysfs_;   // mounted when first needed
};

}  // namespace vfrail
