#include "cni/node/namespaces.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"
#include "common/text.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxCacheBytes = size_t{4} << 20;
// A file for each attachment, of the runtime and of Multus (cachedInfo, libcni/api.go).
constexpr std::array kCaches{"var/lib/cni/results", "var/lib/cni/multus/results"};
// A file for each device that has been attached, with the path of the namespace.
constexpr std::array kMarkers{"var/lib/cni/sriov/pci", "var/lib/cni/ib-sriov/pci"};

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

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD

// The threads of the kernel, which are in the host's namespace for ever: the children of kthreadd. Empty
// where it is not known (CONFIG_PROC_CHILDREN), or process 2 is another one, as in a container.
std::set<std::string, std::less<>> kernel_threads(const World& world) {
  std::set<std::string, std::less<>> out;
  // "2 (kthreadd) S 0 0 0 0 -1 2129984 ...": the flags are the seventh word behind the name.
  const auto stat = world.sys.text("proc/2/stat");
  if (!stat || !*stat) return out;
  std::string_view words = **stat;
  words.remove_prefix(std::min(words.rfind(')') + 1, words.size()));
  cut(words, ' ');
  for (int skipped = 0; skipped < 6; ++skipped) cut(words, ' ');
  if ((parse_decimal(std::string(cut(words, ' '))).value_or(0) & kKernelThread) == 0) return out;
  const auto children = world.sys.text("proc/2/task/2/children");
  if (!children || !*children) return out;
  for (std::string_view rest = **children; !rest.empty();) out.emplace(cut(rest, ' '));
  return out;
}

Result<> add_of_processes(const World& world, const SearchTime::Run& run, NamespacesSeen& out) {
  const auto of_kernel = kernel_threads(world);
  for (const std::string& name : TRY(world.sys.list("proc"), "find namespaces").value_or(SysRoot::Names())) {
    if (!parse_decimal(name) || of_kernel.contains(name)) continue;
    if (run.over()) {
      out.complete = false;
      return {};
    }
    const std::string path = "proc/" + name + "/ns/net";
    const auto target = world.sys.link_target(path);
    // Not there, or ESRCH: the process has ended.
    if (!target && target.error().sys == EACCES) ++out.denied;
    if (!target && target.error().sys != ESRCH && target.error().sys != EACCES) return target.error();
    const auto link = target ? *target : std::nullopt;
    if (link && link->starts_with(kNamespaceName)) out.paths.emplace(*link, world.sys.path(path));
  }
  return {};
}

// An invalid file is not a reason to refuse: a power cut has torn it, and ended all pods.
Result<> add_cached_sandbox(const World& world, const std::string& file, std::set<std::string>& paths) {
  const auto text = TRY(read_file(world.sys.path(file), kMaxCacheBytes));
  const auto cached = Json::parse_object(text.value_or(""), kMaxCacheBytes);
  const Json* netns = cached ? cached->find("netns") : nullptr;
  if (netns != nullptr && netns->as_text() != nullptr) paths.insert(*netns->as_text());
  return {};
}

Result<std::set<std::string>> sandbox_paths(const Record& record, const World& world) {
  std::set<std::string> out;
  for (const AttachmentName& name : TRY(world.store.list())) {
    const auto other = world.store.load(name);
    if (!other && other.error().code != Errc::protocol) return other.error();
    const bool another =
        other && *other && (*other)->attachment.container_id != record.attachment.container_id;
    if (another) out.insert((*other)->netns);
  }
  for (const char* folder : kCaches) {
    for (const std::string& name : TRY(world.sys.list(folder)).value_or(SysRoot::Names()))
      TRY(add_cached_sandbox(world, std::string(folder) + "/" + name, out));
  }
  for (const char* folder : kMarkers) {
    const auto path = TRY(world.sys.text(std::string(folder) + "/" + record.device_key));
    if (path) out.insert(path->substr(0, path->find('\n')));
  }
  return out;
}

}  // namespace

std::string namespace_name(const NetnsId& id) {
  return std::string(kNamespaceName) + std::to_string(id.inode) + "]";
}

NamespacePaths mounted_namespaces(std::string_view mountinfo) {
  NamespacePaths out;
  // 36 35 0:4 net:[4026532001] /run/netns/cni-1 rw shared:7 - nsfs nsfs rw
  while (!mountinfo.empty()) {
    std::string_view line = cut(mountinfo, '\n');
    for (int skipped = 0; skipped < 3; ++skipped) cut(line, ' ');
    const std::string_view root = cut(line, ' ');
    if (root.starts_with(kNamespaceName)) out.emplace(root, unmangled(cut(line, ' ')));
  }
  return out;
}

Result<std::optional<std::string>> read_mountinfo(const std::string& path, const SearchTime::Run& run) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return std::optional<std::string>();
  std::string out;
  for (;;) {
    const size_t filled = out.size();
    if (run.over()) return std::optional<std::string>();
    out.resize(filled + kPieceBytes);
    const ssize_t got = file.valid() ? ::read(file.get(), out.data() + filled, kPieceBytes) : -1;
    if (got < 0) return Error::from_errno(errno, "read " + path);
    out.resize(filled + static_cast<size_t>(got));
    if (got == 0) return std::optional(std::move(out));
  }
}

Result<NamespacesSeen> see_namespaces(const World& world, const SearchTime::Run& run) {
  NamespacesSeen out;
  const auto text = TRY(read_mountinfo(world.sys.path("proc/self/mountinfo"), run), "find namespaces");
  if (text) out.paths = mounted_namespaces(*text);
  TRY(add_of_processes(world, run, out));
  return out;
}

bool NamespaceVisits::at(const std::string& path, const std::string& name) {
  const auto kernel = world_.open_netns(path);
  if (kernel && !*kernel) return false;
  auto visited = kernel ? visit_(**kernel) : Result<>(kernel.error());
  if (!visited && !failure_) failure_ = std::move(visited).error().in("in network namespace " + name);
  return true;
}

namespace {

Error no_time() {
  return {Errc::timeout, 0,
          "there was no time to inspect all network namespaces of this node (searchTimeoutSeconds)"};
}

}  // namespace

bool is_incomplete_search(const Error& error) {
  // Interrupted dumps have been repeated often enough.
  const bool interrupted = error.code == Errc::busy && error.sys == EINTR;
  return interrupted || error.code == Errc::timeout || (error.code == Errc::denied && error.sys == EACCES);
}

Result<> for_each_namespace(World& world, const NetnsId& except, const NamespaceVisit& visit,
                            const NamespaceFilter& narrow) {
  const SearchTime::Run run(world.search);
  NamespacesSeen seen = TRY(see_namespaces(world, run));
  for (const NetnsId& id : {world.host.netns_id(), except}) seen.paths.erase(namespace_name(id));
  if (narrow) narrow(seen.paths);
  NamespaceVisits visits(world, visit);
  for (const auto& [name, path] : seen.paths) {
    if (run.over()) {
      seen.complete = false;
      break;
    }
    static_cast<void>(visits.at(path, path));
  }
  TRY(visits.result());
  if (!seen.complete) return no_time();
  if (seen.denied == 0) return {};
  return Error{Errc::denied, EACCES,
               "the network namespaces of " + std::to_string(seen.denied) +
                   " processes cannot be read; vfrail-cni needs CAP_SYS_PTRACE"};
}

Result<> visit_namespaces(World& world, std::set<std::string>& names, const NamespaceVisit& visit) {
  if (names.empty()) return {};
  const SearchTime::Run run(world.search);
  const NamespacesSeen seen = TRY(see_namespaces(world, run));
  NamespaceVisits visits(world, visit);
  std::erase_if(names, [&](const std::string& name) {
    const auto at = seen.paths.find(name);
    return at != seen.paths.end() && visits.at(at->second, at->second);
  });
  return visits.result();
}

Result<std::unique_ptr<Kernel>> find_namespace(const World& world, const NetnsId& id) {
  SearchTime time;
  const SearchTime::Run run(time);
  const NamespacesSeen seen = TRY(see_namespaces(world, run));
  const auto at = seen.paths.find(namespace_name(id));
  if (at == seen.paths.end() && !seen.complete) return no_time();
  if (at == seen.paths.end()) return std::unique_ptr<Kernel>();
  auto kernel = TRY(world.open_netns(at->second));
  return kernel && kernel->netns_id() == id ? std::move(kernel) : nullptr;
}

// A path can lead to another namespace by now, whose interfaces are not this attachment's.
Result<std::unique_ptr<Kernel>> open_pod(const Record& record, const std::string& netns, const World& world) {
  for (const std::string& path : {record.netns, netns}) {
    if (path.empty()) continue;
    auto pod = TRY(world.open_netns(path));
    if (pod && pod->netns_id() == record.netns_id && pod->netns_id() != world.host.netns_id()) return pod;
  }
  return std::unique_ptr<Kernel>();
}

Result<std::vector<NetnsId>> find_other_sandboxes(const Record& record, const World& world) {
  std::vector<NetnsId> out;
  for (const std::string& path : TRY(sandbox_paths(record, world), "find the sandboxes of other pods")) {
    // What another plugin noted for a machine of its own (a device node, a relative path) is not a namespace.
    if (!path.starts_with("/") || path.starts_with("/dev/") || path.find('\0') != std::string::npos) continue;
    const auto pod = TRY(world.open_netns(path), "find the sandboxes of other pods");
    if (!pod || pod->netns_id() == world.host.netns_id()) continue;
    const bool own = path == record.netns && pod->netns_id() == record.netns_id;
    if (!own) out.push_back(pod->netns_id());
  }
  return out;
}

}  // namespace vfrail::cni
