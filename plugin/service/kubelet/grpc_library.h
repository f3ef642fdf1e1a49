// GrpcLibrary: keeps the gRPC library alive while it exists. Without one, gRPC shuts down, on a thread of its
// own, each time the last server or channel goes, and starts anew with the next, which can meet the shutdown
// half-way.
#pragma once

#include <grpc/grpc.h>

namespace vfrail::plugin {

class GrpcLibrary {
 public:
  GrpcLibrary() { grpc_init(); }
  GrpcLibrary(const GrpcLibrary&) = delete;
  GrpcLibrary& operator=(const GrpcLibrary&) = delete;
  ~GrpcLibrary() { grpc_shutdown(); }
};

}  // namespace vfrail::plugin
