// Every command that a document shows is run, in a folder with copies of manifests/ and examples/, by
// commands.sh: what reads as it is, what would change a cluster or a machine as a check of what it names.
#include "common/json.h"
#include "tests/documents/page.h"
#include "tests/plugin/tree.h"
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

const std::string kTop = test::source_path();

// Where the commands of a page run, one block after the other.
class Desk {
 public:
  Desk() : tree_("igb_node") {
    for (const char* folder : {"manifests", "examples"})
      fs::copy(fs::path(kTop) / folder, folder_.path(folder), fs::copy_options::recursive);
    tree_.add("proc/sys/kernel/random/boot_id = 3b2f6bb4-0000-4000-8000-000000000001");
    add_pod();
  }
  ShellOutcome run(const std::string& block) const {
    std::ofstream(folder_.path("block")) << block;
    return test::run_in_shell("cd " + folder_.path() + " && " + kTop + "/tests/documents/commands.sh " +
                              kTop + " " + test::program_path() + " " + tree_.root() + " block");
  }

 private:
  // The pod that documents name.
  void add_pod() const {
    Record record;
    record.attachment = {"c1", "net1"};
    record.device_key = "0000:21:10.2";
    record.cni_args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
    write_attachment(Attachments(tree_.root() + "/var/lib/cni/vfrail"), record);
  }

  TempDir folder_;
  Tree tree_;
};

}  // namespace

TEST_CASE("every command of every document runs") {
  size_t blocks = 0;
  for (const Page& one : pages()) {
    const Desk desk;
    for (const Block& block : one.blocks) {
      if (block.language != "sh") continue;
      ++blocks;
      const ShellOutcome outcome = desk.run(block.text);
      INFO(one.file << ":" << block.line << "\n" << block.text << "\n" << outcome.output);
      CHECK(outcome.status == 0);
    }
  }
  CHECK(blocks > 50);
}

TEST_CASE("a command that names a missing thing, or that nothing checks, is found") {
  const Desk desk;
  for (const char* bad : {"curl example.org",
                          "kubectl apply -f manifests/none.yaml",
                          "kubectl -n kube-system logs ds/vfrial",
                          "kubectl -n default rollout status daemonset/vfrail",
                          "kubectl explode pod/rdma-test",
                          "cmake --preset none",
                          "cmake --build --preset dev --target none",
                          "vfrail check-config none.json",
                          "vfrail inspect --wide",
                          "kubectl -n kube-system exec ds/vfrail -- vfrail inspect --none",
                          "systemctl enable --now none.timer",
                          "kubectl -n kube-system get pods -l app=none",
                          "tests/lab/run --none",
                          "tests/none",
                          "rm -rf /etc",
                          "echo 1 > /tmp/documents",
                          "kubectl get pods --watch-only",
                          "kubectl vfrail nodes --none",
                          "kubectl vfrail node",
                          "vfrail-cni sweep --none"}) {
    const ShellOutcome outcome = desk.run(std::string(bad) + "\n");
    INFO(bad << "\n" << outcome.output);
    CHECK(outcome.status != 0);
  }
}

TEST_CASE("every JSON of a document is JSON") {
  for (const Page& one : pages()) {
    for (const Block& block : one.blocks) {
      if (block.language != "json") continue;
      INFO(one.file << ":" << block.line);
      CHECK(Json::parse(block.text));
    }
  }
}

}  // namespace vfrail::test
