#include "cni/in_pod/probe/verbs_probe.h"

#include "cni/in_pod/probe/verbs_held.h"

#include <cerrno>

namespace vfrail::pod {

namespace {

void register_memory(ibv_context& context, uint64_t bytes, VerbsProbe& out) {
  const auto fail = [&out](const char* call) {
    out.error = errno;
    out.failed = call;
  };
  const Pages pages(bytes);
  if (!pages.is_there()) return fail("mmap");
  const HeldVerbs<ibv_pd> domain(ibv_alloc_pd(&context));
  if (domain == nullptr) return fail("ibv_alloc_pd");
  const HeldVerbs<ibv_mr> region(
      ibv_reg_mr(domain.get(), pages.memory(), bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (region == nullptr) return fail("ibv_reg_mr");
}

// A descriptor that is not one is refused as such by drivers that have dma-buf, which is NCCL's test, too.
std::optional<bool> has_dmabuf(ibv_context& context) {
  const HeldVerbs<ibv_pd> domain(ibv_alloc_pd(&context));
  if (domain == nullptr) return std::nullopt;
  errno = 0;
  const HeldVerbs<ibv_mr> region(ibv_reg_dmabuf_mr(domain.get(), 0, 1, 0, -1, 0));
  if (errno == EBADF) return true;
  return errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? std::optional(false) : std::nullopt;
}

VerbsProbe probe(ibv_device& device, uint64_t bytes) {
  VerbsProbe out;
  out.device = ibv_get_device_name(&device);
  const HeldVerbs<ibv_context> context(ibv_open_device(&device));
  if (context == nullptr) {
    out.failed = "ibv_open_device";
    out.error = errno;
    return out;
  }
  ibv_port_attr port{};
  // IBV_MTU_256 is 1, and each next one twice as much.
  if (ibv_query_port(context.get(), 1, &port) == 0 && port.active_mtu >= IBV_MTU_256)
    out.active_mtu = 128U << static_cast<unsigned>(port.active_mtu);
  out.dmabuf = has_dmabuf(*context);
  if (bytes > 0) register_memory(*context, bytes, out);
  return out;
}

}  // namespace

std::vector<VerbsProbe> probe_verbs(uint64_t bytes) {
  std::vector<VerbsProbe> out;
  int count = 0;
  const HeldVerbs<ibv_device*> devices(ibv_get_device_list(&count));
  for (int i = 0; devices != nullptr && i < count; ++i) out.push_back(probe(*devices.get()[i], bytes));
  return out;
}

}  // namespace vfrail::pod
