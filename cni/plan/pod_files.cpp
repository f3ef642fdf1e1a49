#include "cni/plan/pod_files.h"

#include "cni/record/record.h"
#include "common/text.h"

#include <algorithm>
#include <tuple>

namespace vfrail::cni {

namespace {

constexpr int kFormat = 1;

// PCI functions first, which is NCCL's order of rails.
auto place_of(const DescribedAttachment& one) {
  const Record& record = one.record;
  const auto& function = rdma_function(record);
  const auto pci = function ? function->pci() : std::nullopt;
  return std::tuple(!pci, pci.value_or(PciAddress()), record.device_key, record.attachment.ifname);
}

const InPod& in_pod_of(const DescribedAttachment& one) { return *one.record.in_pod; }

// "# vfrail: net1 net2": whoever finds a file in a container sees where it is from.
std::string origin(const std::vector<DescribedAttachment>& attachments) {
  std::string out = "# vfrail:";
  for (const DescribedAttachment& one : attachments) out += " " + one.record.attachment.ifname;
  return out + "\n";
}

// "mlx5_2:1,mlx5_6:1".
std::string rails(const std::vector<DescribedAttachment>& attachments) {
  std::vector<std::string> out;
  for (const DescribedAttachment& one : attachments) {
    const InPod& in_pod = in_pod_of(one);
    if (!in_pod.rdma.empty()) out.push_back(in_pod.rdma + ":" + std::to_string(in_pod.rdma_port));
  }
  return joined(out, ",");
}

// Only if it is the same of every rail: NCCL has one variable for all of them.
std::optional<uint32_t> common_gid_index(const std::vector<DescribedAttachment>& attachments) {
  std::optional<uint32_t> out;
  for (const DescribedAttachment& one : attachments) {
    const InPod& in_pod = in_pod_of(one);
    if (in_pod.rdma.empty()) continue;
    if (in_pod.link_layer != "Ethernet" || !in_pod.gid_index) return std::nullopt;
    if (out && out != in_pod.gid_index) return std::nullopt;
    out = in_pod.gid_index;
  }
  return out;
}

// The interface of the pod's default route, unless that is one of ours.
std::string default_interface(const std::vector<DescribedAttachment>& attachments) {
  const auto is_ours = [&](const std::string& name) {
    return std::any_of(attachments.begin(), attachments.end(),
                       [&](const DescribedAttachment& one) { return one.record.attachment.ifname == name; });
  };
  for (const DescribedAttachment& one : attachments) {
    const std::string& name = in_pod_of(one).default_interface;
    if (!name.empty() && !is_ours(name)) return name;
  }
  return "";
}

// What the networks say counts, also instead of what follows from the facts.
NcclVariables nccl_settings(const std::vector<DescribedAttachment>& attachments,
                            std::vector<std::string>& conflicts) {
  NcclVariables wanted;
  const auto find = [&](const std::string& name) {
    return std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.first == name; });
  };
  for (const DescribedAttachment& one : attachments) {
    for (const auto& [name, value] : one.nccl) {
      const auto had = find(name);
      if (had == wanted.end()) {
        wanted.emplace_back(name, value);
      } else if (had->second != value) {
        conflicts.push_back(name + " is " + had->second + " in an earlier network of the pod, " + value +
                            " in " + one.record.network + " is not used");
      }
    }
  }
  NcclVariables out;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (find(name) == wanted.end()) out.emplace_back(name, value);
  };
  // With '=' in front a name is not the beginning of another one (mlx5_1 of mlx5_10).
  const std::string hca = rails(attachments);
  if (!hca.empty()) add("NCCL_IB_HCA", "=" + hca);
  if (const auto index = common_gid_index(attachments)) add("NCCL_IB_GID_INDEX", std::to_string(*index));
  const std::string interface = default_interface(attachments);
  if (!interface.empty()) add("NCCL_SOCKET_IFNAME", "=" + interface);
  out.insert(out.end(), wanted.begin(), wanted.end());
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json describe_interface(const DescribedAttachment& one) {
  const Record& record = one.record;
  const InPod& in_pod = in_pod_of(one);
  Json addresses = Json::array();
  for (const IpAddress& address : in_pod.addresses) addresses.push(address.cidr());
  Json out;
  out.set("name", record.attachment.ifname).set("network", record.network);
  const auto& function = rdma_function(record);
  out.set("device", record.child && function ? function->text() : record.device_key)
      .set("pf", in_pod.pf ? Json(in_pod.pf->text()) : Json());
  out.set("rdma", text_or_null(in_pod.rdma)).set("uverbs", text_or_null(in_pod.uverbs));
  out.set("link_layer", text_or_null(in_pod.link_layer));
  out.set("mac", in_pod.mac.text()).set("mtu", in_pod.mtu).set("addresses", std::move(addresses));
  out.set("gid_index", in_pod.gid_index ? Json(*in_pod.gid_index) : Json());
  return out.set("numa_node", in_pod.numa_node ? Json(*in_pod.numa_node) : Json());
}

Json describe_pod(const std::string& container_id, const std::vector<DescribedAttachment>& attachments) {
  Json out;
  out.set("version", kFormat).set("container", container_id);
  for (const DescribedAttachment& one : attachments) {
    const RecordedPod pod = pod_of(one.record);
    if (pod.name.empty()) continue;
    out.set("pod", Json::object().set("namespace", pod.name_space).set("name", pod.name));
    break;
  }
  Json interfaces = Json::array();
  for (const DescribedAttachment& one : attachments) interfaces.push(describe_interface(one));
  return out.set("interfaces", std::move(interfaces));
}

}  // namespace

PodFiles make_pod_files(const std::string& container_id, std::vector<DescribedAttachment> attachments) {
  std::sort(attachments.begin(), attachments.end(),
            [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  PodFiles out;
  out.nccl_conf = out.ucx_conf = origin(attachments);
  for (const auto& [name, value] : nccl_settings(attachments, out.conflicts))
    out.nccl_conf += name + "=" + value + "\n";
  const std::string devices = rails(attachments);
  if (!devices.empty()) out.ucx_conf += "UCX_NET_DEVICES=" + devices + "\n";
  out.pod_json = describe_pod(container_id, attachments).pretty() + "\n";
  return out;
}

}  // namespace vfrail::cni
