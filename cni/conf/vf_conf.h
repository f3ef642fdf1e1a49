// The keys of sriov-cni and ib-sriov-cni that are set at the PF, read and checked.
#pragma once

#include "cni/conf/net_conf.h"
#include "common/json.h"
#include "common/result.h"

namespace vfrail::cni {

// vlan, vlanQoS, vlanProto, min_tx_rate, max_tx_rate, spoofchk, trust, link_state.
Result<VfSettings> read_vf_settings(ObjectReader& conf);
// guid (also in runtimeConfig and args.cni), pkey, ibKubernetesEnabled, vfioPciMode.
Result<> read_infiniband(ObjectReader& conf, ObjectReader* runtime, VfConf& out);
// rdmaIsolation. After `rdma`.
Result<> read_isolation(ObjectReader& conf, RdmaConf& out);

}  // namespace vfrail::cni
