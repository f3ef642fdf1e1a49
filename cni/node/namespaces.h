// The network namespaces of this node: those that a process is in, and those that are mounted in this mount
// namespace, as a runtime's are (/run/netns). What else keeps one alive: cni/node/hidden_namespaces.h. Reads
// only.
#pragma once

#include "cni/node/world.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::cni {

// What the kernel calls a namespace in links and mounts, and a path to it: "net:[4026532001]". The text
// identifies it, so each is found once.
using NamespacePaths = std::map<std::string, std::string>;
std::string namespace_name(const NetnsId& id);
inline constexpr std::string_view kNamespaceName = "net:[";  // how each begins

// The namespaces that the text of a mountinfo file has, with their mount points as that file's process has
// them.
NamespacePaths mounted_namespaces(std::string_view mountinfo);

// The kernel writes a line of it for each mount, and a pod can have as many as it likes (fs.mount-max). It is
// read in pieces for as long as there is time. No value: it is not there, or there was no time for all of it.
Result<std::optional<std::string>> read_mountinfo(const std::string& path, const SearchTime::Run& run);

struct NamespacesSeen {
  NamespacePaths paths;
  int denied = 0;  // processes whose namespace cannot be read: without CAP_SYS_PTRACE (proc_ns_readlink())
  bool complete = true;  // false: there was no time for all of them
};
// A read of mountinfo (proc_pid_mountinfo(5)), and a readlink(2) for each process that is not a thread of the
// kernel (proc_pid_ns(5)).
Result<NamespacesSeen> see_namespaces(const World& world, const SearchTime::Run& run);

// Visits one namespace after the other. One that has ended meanwhile is skipped. An error of `visit` is kept
// until the others have been visited: whoever has a namespace can keep it from being listed, and must not
// hide the others.
using NamespaceVisit = std::function<Result<>(Kernel&)>;
class NamespaceVisits {
 public:
  NamespaceVisits(const World& world, NamespaceVisit visit) : world_(world), visit_(std::move(visit)) {}
  // `name` is for the error. Returns whether there is one.
  bool at(const std::string& path, const std::string& name);
  Result<> result() const { return failure_ ? Result<>(*failure_) : Result<>(); }  // the first error

 private:
  const World& world_;
  NamespaceVisit visit_;
  std::optional<Error> failure_;
};

// Whether the error of a search says only that not everything could be inspected, which whoever has a
// namespace, a process or a mount on this node can bring about: nothing about the device that was searched
// for.
bool is_incomplete_search(const Error& error);

// Calls `visit` with each namespace that a process is in or that is mounted, except `except`, the host's, and
// those that `narrow` erases, within the world's search time. Errc::denied if the namespaces of some
// processes cannot be read, Errc::timeout if there was no time for all of them. A netlink socket in each
// namespace; /proc must be that of the host's PID namespace.
using NamespaceFilter = std::function<void(NamespacePaths&)>;
Result<> for_each_namespace(World& world, const NetnsId& except, const NamespaceVisit& visit,
                            const NamespaceFilter& narrow = {});

// The same with those of `names` (namespace_name()) alone: no other is opened. Erases from `names` those that
// were visited.
Result<> visit_namespaces(World& world, std::set<std::string>& names, const NamespaceVisit& visit);

// The namespace with that identity, among those of for_each_namespace(); null: it has ended, as far as this
// process can see. Errc::timeout after kUsualSearchTimeout.
Result<std::unique_ptr<Kernel>> find_namespace(const World& world, const NetnsId& id);

// The pod's kernel, if the namespace that the device was moved into still exists, at the record's path or at
// `netns`; null: neither leads there.
Result<std::unique_ptr<Kernel>> open_pod(const Record& record, const std::string& netns, const World& world);

// For messages about a path that leads to no namespace.
inline constexpr const char* kPodHasEnded =
    ": the pod's sandbox has ended meanwhile (a retry by the runtime makes a new one), or the path is wrong";

// The sandboxes of other pods than the record's: what other records, libcni's cache and sriov-cni's markers
// name. A device that is in one of them was put there by a plugin, for a pod that lives.
Result<std::vector<NetnsId>> find_other_sandboxes(const Record& record, const World& world);

}  // namespace vfrail::cni
