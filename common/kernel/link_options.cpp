#include "common/kernel/kernel.h"

namespace vfrail {

LinkOptions LinkOptions::differing_from(const LinkOptions& now) const {
  LinkOptions out;
  for (const Row& row : kRows) {
    const auto& wanted = this->*row.value;
    if (wanted && wanted != now.*row.value) out.*row.value = wanted;
  }
  // netif_set_gso_max_size() sets the size for IPv4 along with the other.
  if (out.gso_max_size && gso_ipv4_max_size) out.gso_ipv4_max_size = gso_ipv4_max_size;
  if (out.gro_max_size && gro_ipv4_max_size) out.gro_ipv4_max_size = gro_ipv4_max_size;
  return out;
}

}  // namespace vfrail
