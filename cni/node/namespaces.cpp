#include "cni/node/namespaces.h"

#include "common/files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <map>
#include <string>
#include <string_view>

namespace vfrail {

namespace {

// A line for each mount that this mount namespace sees; a node full of pods has some thousands.
constexpr size_t kMaxMountinfoBytes = size_t{16} << 20;
constexpr std::string_view kNetworkNamespace = "net:[";

// Removes the part before `mark` from the text and returns it.
std::string_view cut(std::string_view& text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

// mountinfo writes blanks, tabs, line feeds and backslashes as "\040" (mangle() of the kernel).
std::string unmangled(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "net:[4026532001]" -> a path to it. The text identifies the namespace, so each is found once.
using Found = std::map<std::string, std::string>;

Result<> add_mounted(const World& world, Found& out) {
  const auto text =
      TRY(read_file(world.sys.path("proc/self/mountinfo"), kMaxMountinfoBytes), "find namespaces");
  // 36 35 0:4 net:[4026532001] /run/netns/cni-1 rw shared:7 - nsfs nsfs rw
  for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
    std::string_view line = cut(rest, '\n');
    for (int skipped = 0; skipped < 3; ++skipped) cut(line, ' ');
    const std::string_view root = cut(line, ' ');
    if (root.starts_with(kNetworkNamespace)) out.emplace(root, unmangled(cut(line, ' ')));
  }
  return {};
}

Result<> add_of_processes(const World& world, Found& out) {
  int denied = 0;
  for (const std::string& name : TRY(world.sys.list("proc"), "find namespaces").value_or(SysRoot::Names())) {
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      continue;
    const std::string path = "proc/" + name + "/ns/net";
    const auto target = world.sys.link_target(path);
    // Not there, or ESRCH: the process has ended. EACCES: without CAP_SYS_PTRACE (proc_ns_readlink()).
    if (!target && target.error().sys == EACCES) ++denied;
    if (!target && target.error().sys != ESRCH && target.error().sys != EACCES) return target.error();
    const auto link = target ? *target : std::nullopt;
    if (link && link->starts_with(kNetworkNamespace)) out.emplace(*link, world.sys.path(path));
  }
  if (denied > 0) {
    world.log.warning("the network namespaces of some processes cannot be read (CAP_SYS_PTRACE)",
                      {{"processes", std::to_string(denied)}});
  }
  return {};
}

}  // namespace

Result<> for_each_namespace(const World& world, const NetnsId& except,
                            const std::function<Result<>(Kernel&)>& visit) {
  Found found;
  TRY(add_mounted(world, found), "");
  TRY(add_of_processes(world, found), "");
  for (const NetnsId& id : {world.host.netns_id(), except})
    found.erase(std::string(kNetworkNamespace) + std::to_string(id.inode) + "]");
  for (const auto& [name, path] : found) {
    const auto kernel = TRY(world.open_netns(path), "");
    if (!kernel) continue;
    TRY(visit(*kernel), "in network namespace " + path);
  }
  return {};
}

}  // namespace vfrail
