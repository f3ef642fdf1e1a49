// common/node/attachments.h: vfrail-cni's records, as the daemon and the reports read them.
#include "common/node/attachments.h"

#include "tests/support/temp_dir.h"
#include "tests/support/write_attachment.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

namespace fs = std::filesystem;

Record make_record(const std::string& container, const std::string& device) {
  Record out;
  out.attachment = {container, "net1"};
  out.network = "rail0";
  out.device_key = device;
  out.device = *DeviceId::parse(device);
  out.cni_args =
      "IgnoreUnknown=1;K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0;K8S_POD_INFRA_CONTAINER_ID=c1";
  return out;
}

// The state folder of vfrail-cni, as RecordStore writes it.
struct State {
  test::TempDir dir;
  Attachments attachments{dir.path()};

  State() {
    fs::create_directories(dir.path("attachments"));
    fs::create_directories(dir.path("devices"));
  }
  void put(const Record& record) const { test::write_attachment(attachments, record); }
};

}  // namespace

TEST_CASE("Each attached device leads to its attachment, and that to its record") {
  const State state;
  state.put(make_record("c1", "0000:03:02.1"));
  state.put(make_record("c2", "mlx5_core.sf.4"));
  const auto owners = state.attachments.owners();
  REQUIRE(owners);
  CHECK(*owners == AttachedDevices{{"0000:03:02.1", {"c1", "net1"}}, {"mlx5_core.sf.4", {"c2", "net1"}}});
  CHECK(*state.attachments.list() == std::vector<AttachmentName>{{"c1", "net1"}, {"c2", "net1"}});
  const auto record = state.attachments.load({"c2", "net1"});
  REQUIRE(record);
  REQUIRE(*record);
  CHECK(**record == make_record("c2", "mlx5_core.sf.4"));
  CHECK(attachment_text(**record) == "net1 of pod demo/trainer-0, network rail0");
}

TEST_CASE("A link without a record, an incomplete file and files of others are no attachments") {
  const State state;
  fs::create_symlink("c1:net1", state.dir.path("devices/0000:03:02.1"));
  fs::create_symlink("../../etc/passwd", state.dir.path("devices/0000:03:02.2"));
  std::ofstream(state.dir.path("devices/0000:03:02.3.new")) << "{";
  std::ofstream(state.dir.path("attachments/c9:net1.corrupt")) << "{";
  std::ofstream(state.dir.path("attachments/README.json")) << "{}";
  CHECK(state.attachments.owners()->empty());
  CHECK(state.attachments.list()->empty());
  CHECK_FALSE(state.attachments.load({"c1", "net1"})->has_value());
}

TEST_CASE("Without a state folder there are no attachments, an unreadable one is an error") {
  const test::TempDir dir;
  CHECK(Attachments(dir.path("nowhere")).owners()->empty());
  CHECK(Attachments(dir.path("nowhere")).list()->empty());
  std::ofstream(dir.path("devices")) << "";
  const auto owners = Attachments(dir.path()).owners();
  REQUIRE_FALSE(owners);
  CHECK(owners.error().text.find("list " + dir.path("devices")) != std::string::npos);
}

TEST_CASE("A record that cannot be read, or is another attachment's, is an error that names the file") {
  const State state;
  state.put(make_record("c1", "0000:03:02.1"));
  std::ofstream(state.attachments.record_path({"c2", "net1"})) << "{";
  fs::copy_file(state.attachments.record_path({"c1", "net1"}), state.attachments.record_path({"c3", "net1"}));
  for (const char* container : {"c2", "c3"}) {
    const auto record = state.attachments.load({container, "net1"});
    REQUIRE_FALSE(record);
    CHECK(record.error().code == Errc::protocol);
    CHECK(record.error().text.find(state.attachments.record_path({container, "net1"})) != std::string::npos);
  }
}

TEST_CASE("An attachment outside Kubernetes is described by its container") {
  Record record = make_record("c1", "0000:03:02.1");
  record.cni_args.clear();
  CHECK(pod_of(record).text().empty());
  CHECK(attachment_text(record) == "net1 of container c1, network rail0");
}

}  // namespace vfrail
