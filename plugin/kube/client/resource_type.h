// ResourceType and ObjectName: what a URL of the Kubernetes API is made of. Pure; knows no connection.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <compare>
#include <string>
#include <string_view>

namespace vfrail::kube {

struct ResourceType {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool in_namespaces = true;

  std::string api_version() const;  // "v1", "mellanox.com/v1alpha1"
};

inline constexpr ResourceType kPods{"", "v1", "pods", "Pod"};
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false};
inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr ResourceType kEvents{"events.k8s.io", "v1", "events", "Event"};
inline constexpr ResourceType kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet"};
inline constexpr ResourceType kResourceSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                              false};
inline constexpr ResourceType kResourceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
inline constexpr ResourceType kCustomResourceDefinitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
inline constexpr ResourceType kNetworkAttachmentDefinitions{
    "k8s.cni.cncf.io", "v1", "network-attachment-definitions", "NetworkAttachmentDefinition"};
inline constexpr ResourceType kHostDeviceNetworks{"mellanox.com", "v1alpha1", "hostdevicenetworks",
                                                  "HostDeviceNetwork", false};
inline constexpr ResourceType kMacvlanNetworks{"mellanox.com", "v1alpha1", "macvlannetworks",
                                               "MacvlanNetwork", false};
inline constexpr ResourceType kIpoibNetworks{"mellanox.com", "v1alpha1", "ipoibnetworks", "IPoIBNetwork",
                                             false};

struct ObjectName {
  std::string name_space;  // empty: of the cluster, or of every namespace
  std::string name;

  auto operator<=>(const ObjectName&) const = default;
  std::string text() const;  // "default/hostdev", "node-1"
};

// metadata.namespace and metadata.name; empty where they are missing.
ObjectName name_of(const Json& object);
// metadata.uid, metadata.resourceVersion; empty where they are missing.
std::string uid_of(const Json& object);
std::string version_of(const Json& object);

// "/apis/mellanox.com/v1alpha1/hostdevicenetworks/net1"; without a name that of the collection. What a URL
// cannot have is escaped.
std::string path_of(const ResourceType& type, const ObjectName& object);
// A part of a path or of a query: everything escaped but letters, digits, '-', '.', '_' and '~' (RFC 3986,
// section 2.3).
std::string url_escape(std::string_view text);

}  // namespace vfrail::kube
