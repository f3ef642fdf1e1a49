// `vfrail-cni hook` in the two runtimes themselves, runc and crun: what a container's process may lock (the
// table is what the documentation of the key memlock says), and which container does not start.
#include "common/container/claim_record.h"
#include "common/json.h"
#include "tests/netns/program.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

constexpr const char* kRuntimes[] = {"runc", "crun"};
// What containerd's containers have where nobody raised it. Its hard limit is one that needs no right to stay
// below, so that the tests run without CAP_SYS_RESOURCE, too.
constexpr const char* kDaemonLimit = "65536:8388608";

// A bundle whose container prints its limit; its programs are the machine's, read-only.
class Bundle {
 public:
  Bundle();

  void set_user(int uid) { part({"process", "user"}).set("uid", uid).set("gid", uid); }
  void set_hook(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
    Json hook = Json::object().set("path", test::program_path("vfrail-cni")).set("args", Json(words));
    if (!environment.empty()) hook.set("env", Json(environment));
    spec_.set("hooks", Json::object().set("createRuntime", Json::array().push(std::move(hook))));
  }
  void set_pod(const std::string& uid) {
    spec_.set("annotations", Json::object().set("io.kubernetes.cri.sandbox-uid", uid));
  }
  void set_memory(int64_t bytes) {
    part({"linux", "resources"}).set("memory", Json::object().set("limit", bytes));
  }
  void set_own_limit(int64_t bytes) {
    Json limit = Json::object().set("type", "RLIMIT_MEMLOCK").set("soft", bytes).set("hard", bytes);
    part({"process"}).set("rlimits", Json::array().push(std::move(limit)));
  }

  // The limit that its process has, or one that exec starts beside it.
  std::string limit(const std::string& runtime);
  std::string limit_of_exec(const std::string& runtime);
  // How it ended, with what the runtime printed.
  Outcome start(const std::string& runtime);

 private:
  static std::string id() { return "memlock" + std::to_string(::getpid()); }
  Json& part(const std::vector<std::string>& keys) {
    Json* at = &spec_;
    for (const std::string& key : keys) {
      if (at->find(key) == nullptr) at->set(key, Json::object());
      const auto is_key = [&](const auto& one) { return one.first == key; };
      at = &std::find_if(at->as_object()->begin(), at->as_object()->end(), is_key)->second;
    }
    return *at;
  }
  void write(const std::string& command) {
    part({"process"}).set("terminal", false).set("args", Json(std::vector<std::string>{"sh", "-c", command}));
    spec_.set("root", Json::object().set("path", "rootfs").set("readonly", true));
    write_text(folder_.path("config.json"), spec_.text());
  }
  // A shell command for the runtime. crun 1.8 refuses a machine with both versions of cgroups, so it gets a
  // view with one, and no limits of its own making; runc has the machine's.
  std::string call(const std::string& runtime, const std::string& words) const {
    const std::string runs = std::string("prlimit --memlock=") + kDaemonLimit + " " + runtime + " --root " +
                             folder_.path() + "/run ";
    if (runtime == "runc") return "exec " + runs + words;
    return "exec unshare --mount sh -ec 'umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; "
           "exec " +
           runs + "--cgroup-manager=disabled " + words + "'";
  }
  Program begin(const std::string& runtime) const {
    return Program({"bash", "-c", call(runtime, "run --bundle " + folder_.path() + " " + id())}, {}, "");
  }

  TempDir folder_;
  Json spec_;
};

Bundle::Bundle() {
  shell("cd " + folder_.path() +
        " && mkdir -p rootfs/usr rootfs/proc rootfs/dev rootfs/sys && runc spec && "
        "for one in bin lib lib64; do ln -s usr/$one rootfs/$one; done");
  spec_ = *Json::parse(read_text(folder_.path("config.json")));
  Json mounts = Json::array();
  for (const Json& mount : *spec_.find("mounts")->as_array()) {
    if (*mount.find("type")->as_text() != "cgroup") mounts.push(mount);
  }
  mounts.push(Json::object()
                  .set("destination", "/usr")
                  .set("type", "bind")
                  .set("source", "/usr")
                  .set("options", Json(std::vector<std::string>{"rbind", "ro"})));
  spec_.set("mounts", std::move(mounts));
}

std::string Bundle::limit(const std::string& runtime) {
  const Outcome outcome = start(runtime);
  CAPTURE(runtime, outcome.out, outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out.substr(0, outcome.out.find('\n'));
}

std::string Bundle::limit_of_exec(const std::string& runtime) {
  write("sleep 60");
  Program container = begin(runtime);
  const auto in_shell = [](const std::string& command) { return "(" + command + ")"; };
  shell("for i in $(seq 600); do " + in_shell(call(runtime, "state " + id())) +
        " 2> /dev/null | grep -q running && break; sleep 0.1; done");
  const std::string out = shell(call(runtime, "exec " + id() + " sh -c \"ulimit -l\""));
  shell(call(runtime, "kill " + id() + " KILL"));
  container.wait();
  return out.substr(0, out.find('\n'));
}

Outcome Bundle::start(const std::string& runtime) {
  write("ulimit -l");
  return begin(runtime).wait();
}

}  // namespace

TEST_CASE("The memlock hook raises the limit of a container's process, of root's and of other users'") {
  for (const char* runtime : kRuntimes) {
    for (const int uid : {0, 1000}) {
      INFO(runtime << " uid " << uid);
      Bundle bundle;
      bundle.set_user(uid);
      CHECK(bundle.limit(runtime) == "64");
      bundle.set_hook({"vfrail-cni", "hook", "memlock", "4194304"});
      CHECK(bundle.limit(runtime) == "4096");
      bundle.set_hook({"vfrail-cni", "hook", "memlock"});
      bundle.set_memory(int64_t{8} << 20);
      CHECK(bundle.limit(runtime) == "8192");
    }
  }
}

TEST_CASE("A limit of the container's own specification counts instead of the hook's") {
  for (const char* runtime : kRuntimes) {
    INFO(runtime);
    Bundle bundle;
    bundle.set_hook({"vfrail-cni", "hook", "memlock", "4194304"});
    bundle.set_own_limit(1 << 20);
    CHECK(bundle.limit(runtime) == "1024");
  }
}

TEST_CASE("What exec starts has the runtime's limit, and not the hook's") {
  for (const char* runtime : kRuntimes) {
    INFO(runtime);
    Bundle bundle;
    bundle.set_hook({"vfrail-cni", "hook", "memlock", "4194304"});
    CHECK(bundle.limit_of_exec(runtime) == "64");
  }
}

TEST_CASE("A hook that cannot raise the limit fails the container only if it is required") {
  for (const char* runtime : kRuntimes) {
    INFO(runtime);
    Bundle bundle;  // without a memory limit, which the hook is to take
    bundle.set_hook({"vfrail-cni", "hook", "memlock"});
    CHECK(bundle.limit(runtime) == "64");
    bundle.set_hook({"vfrail-cni", "hook", "--required", "memlock"});
    const Outcome outcome = bundle.start(runtime);
    CAPTURE(outcome.err);
    CHECK(outcome.status != 0);
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("A container whose pod has not got the devices of its claim does not start, with the reason") {
  const TempDir node;
  ClaimRecord claim{.claim = {"team", "nics", "claim-1"},
                    .pod = {"train-0", "77"},
                    .node_pool = "node-1",
                    .requests = {{"nic", {{"0000-03-02-1", "rdma/hca", "0000:03:02.1"}}}},
                    .is_chained = true};
  REQUIRE(write_claim(node.path("run"), claim));
  for (const char* runtime : kRuntimes) {
    CAPTURE(runtime);
    Bundle bundle;
    bundle.set_hook({"vfrail-cni", "hook", "claim", "claim-1"},
                    {"VFRAIL_RUN_DIR=" + node.path("run"), "VFRAIL_STATE_DIR=" + node.path("state")});
    bundle.set_pod("77");
    const Outcome without = bundle.start(runtime);
    INFO(without.out << without.err);
    CHECK(without.status != 0);
    bundle.set_pod("78");
    const Outcome another = bundle.start(runtime);
    INFO(another.out << another.err);
    CHECK(another.status != 0);
    if (runtime != kRuntimes[0]) continue;  // crun prints nothing of what a hook has printed
    CHECK_THAT(without.err, Catch::Contains("device 0000:03:02.1 of claim team/nics"));
    CHECK_THAT(another.err, Catch::Contains("it is of pod 78"));
  }
  // Its devices are shared, so there is nothing to attach.
  claim.requests[0].devices[0].share = "share-1";
  claim.requests[0].devices[0].step = 1;
  REQUIRE(write_claim(node.path("run"), claim));
  Bundle bundle;
  bundle.set_hook({"vfrail-cni", "hook", "claim", "claim-1"},
                  {"VFRAIL_RUN_DIR=" + node.path("run"), "VFRAIL_STATE_DIR=" + node.path("state")});
  bundle.set_pod("77");
  CHECK(bundle.limit(kRuntimes[0]) == "64");
}

}  // namespace vfrail::test
