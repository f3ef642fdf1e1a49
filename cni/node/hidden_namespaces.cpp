#include "cni/node/hidden_namespaces.h"

#include "common/text.h"
#include "common/unique_fd.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <linux/sockios.h>

namespace vfrail::cni {

namespace {

// Newer than the headers of Debian 12 (Linux 6.9).
constexpr unsigned kPidfdThread = O_EXCL;
constexpr std::string_view kSocket = "socket:[";
constexpr std::string_view kTun = "tun";
constexpr std::string_view kUnknown = "net:[?]";  // a descriptor of a namespace, of which nothing says which
// The inode numbers of namespaces begin here (PROC_IPC_INIT_INO and those that proc_alloc_inum() gives).
constexpr uint64_t kFirstInode = 0xEFFFFF00;
// A rename anywhere interrupts a walk through the cache.
constexpr int kMaxWalks = 5;

struct Task {
  std::string process;
  std::string thread;
  std::string folder() const { return "proc/" + process + "/task/" + thread; }
  bool leads() const { return process == thread; }
  std::string text() const { return "thread " + thread + " of process " + process; }
};

int number_of(const std::string& digits) { return static_cast<int>(parse_decimal(digits).value_or(0)); }

std::string path_of(int fd) { return "/proc/thread-self/fd/" + std::to_string(fd); }

// Of what was opened, or copied, by a name that can mean another file by now. It sends no request to a file
// system, which can be one that a pod serves (FUSE) and never answers.
std::optional<struct statx> stat_fd(const UniqueFd& fd) {
  struct statx out {};
  const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (::statx(fd.get(), "", flags, STATX_TYPE | STATX_INO, &out) != 0) return {};
  return out;
}

// The two that hold a namespace and say which. 10:200 is TUN_MINOR.
bool is_socket_or_tun(const struct statx& file) {
  return S_ISSOCK(file.stx_mode) ||
         (S_ISCHR(file.stx_mode) && file.stx_rdev_major == 10 && file.stx_rdev_minor == 200);
}

// With the first thread of its process. If it cannot be known, they are inspected once more.
bool shares_descriptors(const Task& task) {
  return ::syscall(SYS_kcmp, number_of(task.process), number_of(task.thread), KCMP_FILES, 0UL, 0UL) == 0;
}

// Without a request to a file system, which a pod can serve and let hang. A mount point and the way to it are
// in the cache for as long as it is mounted.
UniqueFd open_mount_point(const UniqueFd& root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED;
  for (int i = 1;; ++i) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
    if (fd.valid() || errno != EAGAIN || i == kMaxWalks) return fd;
  }
}

class Search {
 public:
  // `wanted` may be null: all.
  Search(World& world, const NamespaceVisit& visit, const std::set<std::string>* wanted)
      : world_(world), visits_(world, visit), wanted_(wanted), time_(world.search) {}

  Result<> run();

 private:
  template <class T>
  std::optional<T> read(Result<std::optional<T>> result);
  void refused(int error, const std::string& what);
  bool goes_on();
  bool is_wanted(const std::string& name) const { return wanted_ == nullptr || wanted_->contains(name); }
  bool is_new(const std::string& name) const {
    // A mount point that no link of /proc names can be any namespace.
    return name.starts_with(kNamespaceName) && !done_.contains(name) && (is_wanted(name) || name == kUnknown);
  }
  Result<> outcome() const;

  template <class Visit>
  void for_each_name(const std::string& folder, const Visit& visit_name);
  void inspect(const Task& task);
  void inspect_descriptors(const Task& task);
  void inspect_descriptor(const Task& task, const std::string& descriptor, std::optional<UniqueFd>& process);
  std::string name_of_file(const std::string& link, const std::string& fdinfo);
  void inspect_socket(const Task& task, const UniqueFd& process, const std::string& descriptor);
  void inspect_mounts(const Task& task);
  bool open_mount(const Task& task, const std::string& name, const std::string& path);
  std::string visit(const UniqueFd& fd, const std::string& origin);

  const World& world_;
  NamespaceVisits visits_;
  const std::set<std::string>* wanted_;
  size_t found_ = 0;  // of the wanted ones
  SearchTime::Run time_;
  bool over_ = false;
  uint64_t device_ = 0;                        // of the file system that namespaces are in
  std::set<std::string> done_;                 // names of namespaces
  std::set<std::string> sockets_;              // "socket:[123]"
  std::set<std::string> mounts_;               // mount namespaces, each with the root of a process in it
  std::map<std::string, std::string> closed_;  // names of namespaces that could not be opened, and where
  int denied_ = 0;
  std::optional<Error> failure_;
};

bool Search::goes_on() {
  if (!over_) over_ = time_.over();
  return !over_ && (wanted_ == nullptr || found_ < wanted_->size());
}

void Search::refused(int error, const std::string& what) {
  if (error == ENOENT || error == ESRCH || error == EBADF) return;  // it has ended, or was closed
  if (error == EACCES || error == EPERM || error == ENOSYS) {
    ++denied_;
  } else if (!failure_) {
    failure_ = Error::from_errno(error, what);
  }
}

template <class T>
std::optional<T> Search::read(Result<std::optional<T>> result) {
  if (result.ok()) return std::move(*result);
  const Error& error = result.error();
  if (error.sys != 0) {
    refused(error.sys, error.text);
  } else if (!failure_) {
    failure_ = error;
  }
  return {};
}

// Returns its name; empty if it is not a network namespace.
std::string Search::visit(const UniqueFd& fd, const std::string& origin) {
  const auto file = stat_fd(fd);
  if (!file) refused(errno, "inspect " + origin);
  if (!file || makedev(file->stx_dev_major, file->stx_dev_minor) != device_) return {};
  const auto netns = Netns::open(path_of(fd.get()));
  if (!netns && netns.error().code == Errc::wrong_netns) return {};  // of processes, mounts, ...
  if (!netns && !failure_) failure_ = netns.error();
  if (!netns || !*netns) return {};
  std::string name = namespace_name((*netns)->id());
  if (!done_.insert(name).second || !is_wanted(name)) return name;
  ++found_;
  visits_.at(path_of((*netns)->fd()), name + ", " + origin);
  return name;
}

void Search::inspect_socket(const Task& task, const UniqueFd& process, const std::string& descriptor) {
  // A copy, because a path to a socket cannot be opened.
  const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number_of(descriptor), 0U)));
  if (!copy.valid()) return refused(errno, "copy a socket of " + task.text());
  const auto file = stat_fd(copy);
  if (!file) return refused(errno, "inspect a socket of " + task.text());
  if (!is_socket_or_tun(*file)) return;  // another file by now
  const UniqueFd netns(::ioctl(copy.get(), SIOCGSKNS));
  if (!netns.valid()) return refused(errno, "find the network namespace of a socket of " + task.text());
  visit(netns, "of a socket of " + task.text());
}

// What a descriptor is whose link shows a path: a namespace that was opened by its mount point has that path,
// and "/" once it is unmounted; a tun device can have any.
std::string Search::name_of_file(const std::string& link, const std::string& fdinfo) {
  const UniqueFd fd(::open(world_.sys.path(fdinfo).c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];  // more than what comes before its locks, of which there can be any number
  const ssize_t got = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  if (got < 0) {
    refused(errno, "read " + fdinfo);
    return {};
  }
  const std::string_view text(buffer, static_cast<size_t>(got));
  if (link == "/dev/net/tun" || text.find("\niff:") != std::string_view::npos) return std::string(kTun);
  constexpr std::string_view kInode = "\nino:\t";
  const size_t at = text.find(kInode);
  if (at == std::string_view::npos) return std::string(link == "/" ? kUnknown : "");  // before Linux 5.14
  const std::string_view digits = text.substr(at + kInode.size());
  const auto inode = parse_decimal(digits.substr(0, digits.find('\n')));
  return inode && *inode >= kFirstInode ? namespace_name({0, *inode}) : "";
}

void Search::inspect_descriptor(const Task& task, const std::string& descriptor,
                                std::optional<UniqueFd>& process) {
  const std::string path = task.folder() + "/fd/" + descriptor;
  auto name = read(world_.sys.link_target(path));
  if (name && name->starts_with("/")) name = name_of_file(*name, task.folder() + "/fdinfo/" + descriptor);
  if (!name) return;
  if (is_new(*name)) {
    // O_PATH, because it can be any other file by now.
    const UniqueFd fd(::open(world_.sys.path(path).c_str(), O_PATH | O_CLOEXEC));
    if (!fd.valid()) return refused(errno, "open descriptor " + descriptor + " of " + task.text());
    visit(fd, "descriptor " + descriptor + " of " + task.text());
    return;
  }
  const bool new_socket = name->starts_with(kSocket) && sockets_.insert(*name).second;
  if (!new_socket && *name != kTun) return;
  if (!process) {
    const unsigned flags = task.leads() ? 0 : kPidfdThread;
    process.emplace(static_cast<int>(::syscall(SYS_pidfd_open, number_of(task.thread), flags)));
    if (!process->valid()) refused(errno, "inspect the sockets of " + task.text());
  }
  if (process->valid()) inspect_socket(task, *process, descriptor);
}

// One after the other, because a process can have a million of them.
template <class Visit>
void Search::for_each_name(const std::string& folder, const Visit& visit_name) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(world_.sys.path(folder).c_str()), ::closedir);
  if (!entries) return refused(errno, "list " + folder);
  while (goes_on()) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) refused(errno, "list " + folder);
    if (entry == nullptr) return;
    if (entry->d_name[0] != '.') visit_name(std::string(entry->d_name));
  }
}

void Search::inspect_descriptors(const Task& task) {
  std::optional<UniqueFd> process;  // when it is needed
  for_each_name(task.folder() + "/fd",
                [&](const std::string& descriptor) { inspect_descriptor(task, descriptor, process); });
}

bool Search::open_mount(const Task& task, const std::string& name, const std::string& path) {
  const UniqueFd root(
      ::open(world_.sys.path(task.folder() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return false;
  const UniqueFd fd = open_mount_point(root, path);
  // Another mount can be on top of it.
  return fd.valid() && visit(fd, "mounted for " + task.text()) == name;
}

void Search::inspect_mounts(const Task& task) {
  const auto mounted = [&] {
    const auto text = read(read_mountinfo(world_.sys.path(task.folder() + "/mountinfo"), time_));
    return mounted_namespaces(text.value_or(""));
  };
  std::map<std::string, std::string> unopened;
  for (const auto& [name, path] : mounted()) {
    if (!goes_on()) return;
    if (is_new(name) && !open_mount(task, name, path)) unopened.emplace(name, path);
  }
  if (unopened.empty()) return;
  const NamespacePaths still = mounted();
  for (const auto& [name, path] : unopened) {
    if (still.contains(name)) closed_.emplace(name, "mounted on " + path + " for " + task.text());
  }
}

void Search::inspect(const Task& task) {
  const std::string netns = task.folder() + "/ns/net";
  const auto name = read(world_.sys.link_target(netns));
  // If the thread has ended, something else can still keep it.
  if (name && is_new(*name) && visits_.at(world_.sys.path(netns), *name + ", " + task.text())) {
    done_.insert(*name);
    ++found_;
  }
  // A process sees the mounts below its root only.
  const auto mounts = read(world_.sys.link_target(task.folder() + "/ns/mnt"));
  const auto root = read(world_.sys.link_target(task.folder() + "/root"));
  if (mounts && root && mounts_.insert(*mounts + " " + *root).second) inspect_mounts(task);
  if (task.leads() || !shares_descriptors(task)) inspect_descriptors(task);
}

Result<> Search::outcome() const {
  TRY(visits_.result());
  if (wanted_ != nullptr) return {};
  if (failure_) return *failure_;
  if (over_)
    return Error{Errc::timeout, 0,
                 "there was no time to inspect all threads and descriptors of this node for hidden network "
                 "namespaces (searchTimeoutSeconds)"};
  for (const auto& [name, where] : closed_) {
    if (!done_.contains(name)) return Error{Errc::busy, 0, name + ", " + where + ", cannot be opened"};
  }
  if (denied_ == 0) return {};
  return Error{Errc::denied, EACCES,
               counted(static_cast<size_t>(denied_), "thread or descriptor") +
                   " cannot be inspected; vfrail-cni needs CAP_SYS_PTRACE, and Linux 5.6"};
}

Result<> Search::run() {
  device_ = TRY(Netns::current()).id().device;
  // What the first search has visited.
  NamespacesSeen seen = TRY(see_namespaces(world_, time_));
  for (const auto& [name, path] : seen.paths) done_.insert(name);
  done_.insert(namespace_name(world_.host.netns_id()));
  for_each_name("proc", [&](const std::string& process) {
    if (!parse_decimal(process)) return;
    for_each_name("proc/" + process + "/task", [&](const std::string& thread) {
      inspect({process, thread});
    });
  });
  return outcome();
}

}  // namespace

Result<> for_each_hidden_namespace(World& world, const NamespaceVisit& visit) {
  return Search(world, visit, nullptr).run();
}

Result<> visit_hidden_namespaces(World& world, const std::set<std::string>& names,
                                 const NamespaceVisit& visit) {
  return names.empty() ? Result<>() : Search(world, visit, &names).run();
}

}  // namespace vfrail::cni
