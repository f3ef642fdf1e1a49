// What `kubectl exec ds/vfrail -- vfrail inspect` finds by itself: the container's files as the DaemonSet
// mounts them, in a folder that becomes the root.
#include "tests/manifests/documents.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"
#include "tests/support/write_attachment.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

namespace fs = std::filesystem;

// A root with vfrail in it, the libraries that a test build needs, and a node's tree below /host.
struct Container {
  Container() {
    const ShellOutcome copied =
        run_in_shell("cd " + folder.path() + " && mkdir bin && ln " + test::program_path("vfrail") +
                     " bin/ 2> /dev/null || cp " + test::program_path("vfrail") +
                     " bin/; for library "
                     "in $(ldd bin/vfrail | grep -o '/[^ ]*'); do mkdir -p .${library%/*}; cp $library "
                     ".$library; done");
    INFO(copied.output);
    write_tree(folder.path("host"), file_text("tests/data/igb_node.sysfs"));
    write_uevents(folder.path("host"));
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(folder.path(file)).parent_path());
    std::ofstream(folder.path(file)) << text;
  }
  ShellOutcome vfrail(const std::string& words) const {
    return run_in_shell("as_root=; [ $(id -u) = 0 ] || as_root='unshare -r'; COLUMNS=200 $as_root chroot " +
                        folder.path() + " /bin/vfrail " + words);
  }
  TempDir folder;
};

}  // namespace

TEST_CASE("in the container the host, the configuration and the records are found without flags") {
  const Container container;
  const ShellOutcome bare = container.vfrail("inspect");
  INFO(bare.output);
  CHECK(bare.status == 0);
  CHECK(bare.output.find("`-0000:21:10.6 ") != std::string::npos);
  CHECK(bare.output.find("no configuration, so no resources") != std::string::npos);

  container.write("etc/pcidp/config.json",
                  R"({"resourceList":[{"resourceName":"hostdev","selectors":{"pfNames":["eth0"]}}]})");
  Record record;
  record.attachment = {"c1", "net1"};
  record.device_key = "0000:21:10.2";
  record.cni_args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
  write_attachment(Attachments(container.folder.path("var/lib/cni/vfrail")), record);
  const ShellOutcome configured = container.vfrail("inspect");
  INFO(configured.output);
  CHECK(configured.status == 0);
  CHECK(configured.output.find("\nconfiguration: /etc/pcidp/config.json\n") != std::string::npos);
  CHECK(configured.output.find("intel.com/hostdev: 4 devices: 1 allocated, 3 healthy") != std::string::npos);
  CHECK(configured.output.find(" team/train-0 ") != std::string::npos);
  CHECK(container.vfrail("inspect --config-file ''").output.find("no configuration") != std::string::npos);

  container.write("var/lib/kubelet/pod-resources/here", "");
  const ShellOutcome refused = container.vfrail("inspect");
  CHECK(refused.status == 0);
  CHECK(refused.output.find("warning: pod-resources API unavailable, pods are not shown: ") !=
        std::string::npos);

  const ShellOutcome checked = container.vfrail("check-config");
  CHECK(checked.status == 0);
  CHECK(checked.output.find("intel.com/hostdev\n") != std::string::npos);
}

}  // namespace vfrail::test
