// The versions of kubelet's APIs that are served, as types for the templates that serve them alike.
#pragma once

#include "proto/dra_health_v1.grpc.pb.h"
#include "proto/dra_health_v1alpha1.grpc.pb.h"
#include "proto/dra_v1.grpc.pb.h"
#include "proto/dra_v1beta1.grpc.pb.h"

namespace vfrail::plugin {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// `kName` is what a registration calls it, which is not the service's name in gRPC.
struct DraV1 {
  static constexpr const char* kName = "v1.DRAPlugin";
  using Service = dra_v1::DRAPlugin;
  using PrepareRequest = dra_v1::NodePrepareResourcesRequest;
  using PrepareResponse = dra_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra_v1::NodeUnprepareResourcesResponse;
};

struct DraV1Beta1 {
  static constexpr const char* kName = "v1beta1.DRAPlugin";
  using Service = dra_v1beta1::DRAPlugin;
  using PrepareRequest = dra_v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = dra_v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra_v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra_v1beta1::NodeUnprepareResourcesResponse;
};

struct DraHealthV1 {
  static constexpr const char* kName = "v1.DRAResourceHealth";
  using Service = v1::DRAResourceHealth;
  using Request = v1::NodeWatchResourcesRequest;
  using Response = v1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = v1::HEALTHY;
  static constexpr auto kUnhealthy = v1::UNHEALTHY;
};

struct DraHealthV1Alpha1 {
  static constexpr const char* kName = "v1alpha1.DRAResourceHealth";
  using Service = v1alpha1::DRAResourceHealth;
  using Request = v1alpha1::NodeWatchResourcesRequest;
  using Response = v1alpha1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = v1alpha1::HEALTHY;
  static constexpr auto kUnhealthy = v1alpha1::UNHEALTHY;
};

}  // namespace vfrail::plugin
