#include "cni/node/upper_links.h"

#include "cni/node/boot.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"
#include "common/kernel/btf.h"

#include <array>

namespace vfrail::cni {

namespace {

constexpr int64_t kSchema = 1;
constexpr size_t kMaxFileBytes = size_t{64} << 10;
// Beside what the devices of this boot were.
constexpr const char* kFolder = "/baselines";
constexpr const char* kFile = "/uppers.kernel";

struct Row {
  const char* name;
  uint32_t UpperOffsets::*value;
};
constexpr std::array kRows = {Row{"sk_buff.dev", &UpperOffsets::packet_device},
                              Row{"net_device.adj_list.upper", &UpperOffsets::uppers},
                              Row{"net_device.ifindex", &UpperOffsets::index},
                              Row{"net_device.nd_net", &UpperOffsets::netns},
                              Row{"net.ns.inum", &UpperOffsets::netns_inode},
                              Row{"netdev_adjacent.dev", &UpperOffsets::adjacent},
                              Row{"netdev_adjacent.list", &UpperOffsets::adjacent_entry}};

// What is known of this boot's kernel.
struct Known {
  std::optional<UpperOffsets> offsets;
  std::string reported;  // the error that was logged last
};

Json format(const Known& known, const std::string& boot) {
  Json out;
  out.set("schema", kSchema).set("bootId", boot);
  if (known.offsets) {
    Json offsets = Json::object();
    for (const Row& row : kRows) offsets.set(row.name, int64_t{(*known.offsets).*row.value});
    out.set("offsets", std::move(offsets));
  }
  if (!known.reported.empty()) out.set("reported", known.reported);
  return out;
}

// Of another boot, or unreadable: nothing is known, and it is found out again.
Known parse(const std::string& text, const std::string& boot) {
  Known out;
  const auto json = Json::parse_object(text, kMaxFileBytes);
  const auto text_of = [&](const char* key) {
    const Json* value = json ? json->find(key) : nullptr;
    return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string();
  };
  if (!json || text_of("bootId") != boot) return out;
  out.reported = text_of("reported");
  const Json* offsets = json->find("offsets");
  if (offsets == nullptr) return out;
  UpperOffsets found;
  for (const Row& row : kRows) {
    const Json* value = offsets->find(row.name);
    const auto number = value == nullptr ? nullptr : value->as_int();
    if (number == nullptr || *number < 0 || *number > UINT16_MAX) return out;
    found.*row.value = static_cast<uint32_t>(*number);
  }
  out.offsets = found;
  return out;
}

Result<UpperOffsets> find_offsets(const SysRoot& sys) {
  auto btf = TRY(read_file(sys.path("sys/kernel/btf/vmlinux"), Btf::kMaxBytes));
  if (btf) return find_upper_offsets(std::move(*btf));
  return Error{Errc::unsupported, 0,
               "this kernel does not describe its types (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)"};
}

class UpperLinksOfNode {
 public:
  UpperLinksOfNode(SysRoot sys, std::string folder, Log& log)
      : sys_(std::move(sys)), folder_(std::move(folder)), log_(log) {}

  Result<UpperLinks> read(Kernel& there, int index) {
    const std::string boot = TRY(this_boot(sys_));
    const auto text = read_file(folder_ + kFile, kMaxFileBytes);
    Known known = parse(text ? text->value_or("") : "", boot);
    const Known before = known;
    auto out = read(there, index, known);
    if (!out && out.error().code != Errc::not_found) report(out.error(), known);
    if (known.offsets != before.offsets || known.reported != before.reported) save(known, boot);
    return out;
  }

 private:
  Result<UpperLinks> read(Kernel& there, int index, Known& known) const {
    if (!known.offsets) known.offsets = TRY(find_offsets(sys_));
    return there.upper_links(index, *known.offsets);
  }
  void report(const Error& error, Known& known) {
    if (known.reported == error.text) return;
    known.reported = error.text;
    log_.warning(
        "the kernel does not list what pods stack on devices: DEL searches the network namespaces of the "
        "node for what its pod has left, and ADD does not find what other pods have put on the device (this "
        "is logged once a boot)",
        {{"reason", error.text}, {"id", id_text(ErrorId::uppers_unknown)}});
  }
  // Without it the next DEL finds it out again.
  void save(const Known& known, const std::string& boot) {
    auto saved = make_folder(folder_, 0700);
    if (saved) saved = write_file(folder_ + kFile, format(known, boot).text(), 0600, Durability::renamed);
    if (!saved)
      log_.debug("what is known of the kernel's structures cannot be kept", {{"reason", saved.error().text}});
  }

  SysRoot sys_;
  std::string folder_;
  Log& log_;
};

}  // namespace

std::function<Result<UpperLinks>(Kernel& there, int index)> upper_links_of(const SysRoot& sys,
                                                                           const std::string& state_folder,
                                                                           Log& log) {
  return [reader = UpperLinksOfNode(sys, state_folder + kFolder, log)](Kernel& there, int index) mutable {
    return reader.read(there, index);
  };
}

}  // namespace vfrail::cni
