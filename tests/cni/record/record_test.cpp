// cni/record/record.h: what is on disk, who owns a device, and files that somebody else has written.
#include "cni/record/record.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

namespace fs = std::filesystem;

IpAddress cidr(const char* text) { return *IpAddress::parse_cidr(text); }

Record full_record() {
  Record out;
  out.attachment = {"abc", "net1"};
  out.network = "rail0";
  out.boot_id = "boot-1";
  out.netns = "/run/netns/x";
  out.netns_id = {UINT64_MAX, (uint64_t{1} << 53) + 1};
  out.host_netns = NetnsId{4, 4026531840};
  out.device_key = "0000:03:02.1";
  out.device = *DeviceId::parse("0000:03:02.1");
  out.link = LinkBefore{7,
                        "eth7",
                        {"enp3s2f1", "a \"quoted\" one"},
                        *MacAddress::parse("02:00:00:00:00:01"),
                        9000,
                        1000,
                        "é\n",
                        true,
                        "",
                        "0000:03:02.1"};
  out.port = 1;
  out.vf = VfBefore{{.mac = MacAddress{std::vector<uint8_t>(6)},
                     .vlan = VfVlan{100, 3, 0x88a8},
                     .rate = VfRate{1, 2},
                     .spoof_check = true,
                     .trust = false,
                     .link_state = VfLinkState::disable,
                     .node_guid = 0xffff'ffff'ffff'fffe,
                     .port_guid = 1},
                    true};
  out.rebinding = true;
  out.link->promisc = true;
  out.link->lower = 3;
  out.link->uppers = {12, INT32_MAX};
  out.link->permanent_mac = *MacAddress::parse("02:00:00:00:00:0f");
  out.link->broadcast = *MacAddress::parse("ff:ff:ff:ff:ff:ff");
  out.link->addresses = {{cidr("10.9.0.2/24"), AddressSettings::usual(cidr("10.9.0.2/24"))},
                         {cidr("10.9.1.2/32"),
                          {.peer = *IpAddress::parse("10.9.1.1"),
                           .priority = 50,
                           .scope = 253,
                           .no_prefix_route = true,
                           .label = "vf1:0"}},
                         {cidr("fd09::2/64"), {.no_dad = true}}};
  Route route;
  route.destination = cidr("10.20.0.0/16");
  out.link->routes = {route};
  route.gateway = *IpAddress::parse("fd09::1");
  route.table = 4'000'000'000;
  route.onlink = true;
  route.priority = 7;
  route.scope = 0;
  route.mtu = 1400;
  route.advmss = 1360;
  route.metrics = {{11, 20}};
  route.source = *IpAddress::parse("10.9.0.2");
  route.protocol = 4;
  route.tos = 16;
  route.preference = 1;
  out.link->routes.push_back(route);
  out.child = ChildLink{
      .kind = "macvlan", .master = "ens1f0", .master_index = 5, .device = *DeviceId::parse("0000:03:00.0")};
  out.index_in_pod = 9;
  out.routing_table = 100;
  out.rail_of = "net1";
  out.irqs = {{40, "ff"}, {4000000000, "3,ffffffff"}};
  out.pod_mac = *MacAddress::parse("02:00:00:00:00:02");
  out.rdma = {{"mlx5_4", "rdma0", 4}, {"mlx5_5", "rdma0_1", UINT32_MAX}};
  out.allocated_file = "4711:1.5";
  out.in_pod =
      InPod{.mac = *MacAddress::parse("02:00:00:00:00:02"),
            .mtu = 9000,
            .addresses = {*IpAddress::parse_cidr("10.0.0.2/24"), *IpAddress::parse_cidr("fd00::2/64")},
            .rdma = "rdma0",
            .uverbs = "uverbs4",
            .link_layer = "Ethernet",
            .rdma_port = 2,
            .gid_index = 3,
            .pf = *PciAddress::parse("0000:03:00.0"),
            .numa_node = 0,
            .default_interface = "eth0"};
  out.config = "{\n\t\"name\": \"rail0\"}";
  out.cni_args = "A=1;B=2";
  out.cni_path = "/opt/cni/bin";
  return out;
}

struct Store {
  test::TempDir dir;
  std::string folder = dir.path("state");
  RecordStore store = *RecordStore::open(folder, dir.path("locks"));
};

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

size_t files_below(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory() || entry.is_symlink()) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("A record of an older version has the host's addresses alone, with their usual settings") {
  Record record = full_record();
  Json json = *Json::parse(format_record(record));
  Json link = *json.find("link");
  link.set("addressSettings", Json()).set("routes", Json());
  const auto back = parse_record(json.set("link", link).text());
  REQUIRE(back);
  REQUIRE(back->link->addresses.size() == 3);
  CHECK(back->link->addresses[0].settings.broadcast->text() == "10.9.0.255");
  CHECK(back->link->addresses[1].settings == AddressSettings{});
  CHECK(back->link->routes.empty());
}

TEST_CASE("A record survives writing and reading unchanged") {
  const Record record = full_record();
  const auto back = parse_record(format_record(record));
  REQUIRE(back);
  CHECK(*back == record);
}

TEST_CASE("A record without netdev, device id and RDMA survives writing and reading unchanged") {
  Record record;
  record.attachment = {"abc", "net1"};
  record.device_key = "netdev.veth0";
  CHECK(*parse_record(format_record(record)) == record);
}

TEST_CASE(
    "RDMA devices are a list for each part, and older versions had no names in the pod and no indices") {
  const Record record = full_record();
  Json json = *Json::parse(format_record(record));
  CHECK(*json.find("rdma") == *Json::parse(R"(["mlx5_4","mlx5_5"])"));
  CHECK(*json.find("rdmaInPod") == *Json::parse(R"(["rdma0","rdma0_1"])"));
  CHECK(*json.find("rdmaIndex") == *Json::parse("[4,4294967295]"));
  json.set("rdmaInPod", Json::array());
  CHECK(parse_record(json.text())->rdma ==
        std::vector<MovedRdma>{{"mlx5_4", "mlx5_4", 4}, {"mlx5_5", "mlx5_5", UINT32_MAX}});
  json.set("rdmaIndex", Json::array());
  CHECK(parse_record(json.text())->rdma ==
        std::vector<MovedRdma>{{"mlx5_4", "mlx5_4"}, {"mlx5_5", "mlx5_5"}});
}

TEST_CASE("A file that is not a record, or has another schema, is refused") {
  const std::string good = format_record(full_record());
  const auto without = [&](const std::string& key) {
    Json json = *Json::parse(good);
    json.set(key, Json());
    return json.text();
  };
  CHECK_FALSE(parse_record(""));
  CHECK_FALSE(parse_record("{"));
  CHECK_FALSE(parse_record("[]"));
  CHECK_FALSE(parse_record("{}"));
  CHECK_FALSE(parse_record(good.substr(0, good.size() / 2)));
  for (const char* key :
       {"schema", "containerId", "ifname", "network", "netns", "netnsId", "deviceKey", "config"}) {
    CAPTURE(key);
    CHECK_FALSE(parse_record(without(key)));
  }
  Json newer = *Json::parse(good);
  CHECK_FALSE(parse_record(newer.set("schema", 2).text()));
}

TEST_CASE("A hostile value in a record is refused") {
  const auto [key, value] = GENERATE(table<std::string, std::string>({
      {"device", R"("../../x")"},
      {"containerId", R"("../x")"},
      {"containerId", R"("")"},
      {"ifname", R"("../x")"},
      {"ifname", R"("..")"},
      {"deviceKey", R"("")"},
      {"deviceKey", R"("..")"},
      {"deviceKey", R"("../../etc/cron.d/x")"},
      {"deviceKey", R"("netdev./x")"},
      {"deviceKey", R"("netdev.a\u0000b")"},
      {"netnsId", R"("5")"},
      {"netnsId", R"("")"},
      {"podMac", R"("zz")"},
      {"link",
       R"({"index":1,"name":"../x","mac":"","mtu":1,"txQueueLen":1,"alias":"","kind":"","parent":""})"},
      {"link", R"({"index":-1,"name":"a","mac":"","mtu":1,"txQueueLen":1,"alias":"","kind":"","parent":""})"},
      {"link",
       R"({"index":1,"name":"a","mac":"","mtu":1e10,"txQueueLen":1,"alias":"","kind":"","parent":""})"},
      {"link", R"([])"},
      {"rdma", R"("x")"},
  }));
  CAPTURE(key, value);
  Json json = *Json::parse(format_record(full_record()));
  CHECK_FALSE(parse_record(json.set(key, *Json::parse(value)).text()));
}

TEST_CASE("A saved record is found and owns its device; removing it leaves no file") {
  Store s;
  const Record record = full_record();
  REQUIRE(s.store.save(record));
  CHECK(**s.store.load(record.attachment) == record);
  CHECK(*s.store.owner(record.device_key) == record.attachment);
  CHECK(*s.store.list() == std::vector<AttachmentName>{record.attachment});
  REQUIRE(s.store.remove_owner(record));
  CHECK_FALSE(s.store.owner(record.device_key)->has_value());
  CHECK(**s.store.load(record.attachment) == record);
  REQUIRE(s.store.remove(record));
  CHECK_FALSE(s.store.load(record.attachment)->has_value());
  CHECK(files_below(s.folder) == 0);
}

TEST_CASE("Saving a record again replaces it") {
  Store s;
  Record record = full_record();
  REQUIRE(s.store.save(record));
  record.network = "rail1";
  REQUIRE(s.store.save(record));
  CHECK((*s.store.load(record.attachment))->network == "rail1");
  CHECK(files_below(s.folder) == 2);
}

TEST_CASE("A record that cannot be saved again stays unchanged") {
  Store s;
  const Record before = full_record();
  REQUIRE(s.store.save(before));
  // The owner's link cannot be written: a folder has its name.
  fs::remove(s.folder + "/devices/" + before.device_key);
  fs::create_directories(s.folder + "/devices/" + before.device_key + "/x");
  Record now = before;
  now.network = "rail1";
  CHECK_FALSE(s.store.save(now));
  const auto kept = s.store.load(before.attachment);
  REQUIRE(kept);
  CHECK(*kept == before);
}

TEST_CASE("A record whose second device cannot be taken stays unchanged") {
  Store s;
  const Record before = full_record();
  REQUIRE(s.store.save(before));
  Record now = before;
  now.device_key = "0000:03:02.7";
  fs::create_directories(s.folder + "/devices/" + now.device_key + "/x");
  CHECK_FALSE(s.store.save(now));
  CHECK(*s.store.load(before.attachment) == before);
}

TEST_CASE("Removing a record leaves its successor of the same name alone") {
  Store s;
  const Record old = full_record();
  Record now = full_record();
  now.network = "rail1";
  REQUIRE(s.store.save(now));
  REQUIRE(s.store.remove(old));
  CHECK(*s.store.load(old.attachment) == now);
}

TEST_CASE("Releasing a device leaves its new owner alone") {
  Store s;
  const Record old = full_record();
  Record now = full_record();
  now.attachment.container_id = "def";
  REQUIRE(s.store.save(old));
  REQUIRE(s.store.save(now));
  REQUIRE(s.store.remove_owner(old));
  CHECK(*s.store.owner(now.device_key) == now.attachment);
}

TEST_CASE("An owner whose record is gone owns nothing") {
  Store s;
  const Record record = full_record();
  REQUIRE(s.store.save(record));
  REQUIRE(fs::remove(s.folder + "/attachments/abc:net1.json"));
  CHECK_FALSE(s.store.owner(record.device_key)->has_value());
}

TEST_CASE("An owner link that leads elsewhere owns nothing") {
  Store s;
  const char* target = GENERATE("../../etc/passwd", "x", ":", "a:b/c", "..:net1");
  fs::create_symlink(target, s.folder + "/devices/0000:03:02.1");
  const auto owner = s.store.owner("0000:03:02.1");
  CHECK((owner && !owner->has_value()));
}

TEST_CASE("Removing what was never saved succeeds") {
  Store s;
  CHECK(s.store.remove_owner(full_record()));
  CHECK(s.store.remove(full_record()));
  CHECK_FALSE(s.store.load({"none", "net1"})->has_value());
}

TEST_CASE("An unreadable record is an error of its own, and can be quarantined") {
  Store s;
  std::ofstream(s.folder + "/attachments/abc:net1.json")
      << GENERATE(std::string("{ torn"), std::string(kMaxRecordBytes + 1, ' '));
  const auto loaded = s.store.load({"abc", "net1"});
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Errc::protocol);
  CHECK(loaded.error().text.find("abc:net1.json") != std::string::npos);
  REQUIRE(s.store.quarantine({"abc", "net1"}));
  CHECK_FALSE(s.store.load({"abc", "net1"})->has_value());
  CHECK(fs::exists(s.folder + "/attachments/abc:net1.corrupt"));
  CHECK(s.store.list()->empty());
}

TEST_CASE("A record of another attachment under this name is refused") {
  Store s;
  std::ofstream(s.folder + "/attachments/other:net1.json") << format_record(full_record());
  CHECK(s.store.load({"other", "net1"}).error().code == Errc::protocol);
}

TEST_CASE("A symbolic link in the place of a record is not followed") {
  Store s;
  std::ofstream(s.dir.path("elsewhere")) << format_record(full_record());
  fs::create_symlink(s.dir.path("elsewhere"), s.folder + "/attachments/abc:net1.json");
  CHECK_FALSE(s.store.load({"abc", "net1"}));
}

TEST_CASE("A record that could not be read back is refused before it is written") {
  Store s;
  Record record = full_record();
  record.link->alias = "\xff not UTF-8";
  const auto saved = s.store.save(record);
  REQUIRE_FALSE(saved);
  CHECK(files_below(s.folder) == 0);
}

TEST_CASE("Other files among the records are not listed") {
  Store s;
  for (const char* name : {"x.json", "a:b.txt", "a:b.json.new.5", "..:net1.json", "a:b c.json"}) {
    std::ofstream(s.folder + "/attachments/" + name) << "";
  }
  CHECK(s.store.list()->empty());
}

TEST_CASE("Only the owner can read the state") {
  Store s;
  REQUIRE(s.store.save(full_record()));
  CHECK(mode_of(s.folder) == 0700);
  CHECK(mode_of(s.folder + "/attachments") == 0700);
  CHECK(mode_of(s.folder + "/devices") == 0700);
  CHECK(mode_of(s.dir.path("locks")) == 0700);
  CHECK(mode_of(s.folder + "/attachments/abc:net1.json") == 0600);
}

TEST_CASE("A state folder that others can read or write gets its permissions corrected") {
  const test::TempDir dir;
  fs::create_directories(dir.path("state"));
  REQUIRE(::chmod(dir.path("state").c_str(), 0777) == 0);
  REQUIRE(RecordStore::open(dir.path("state"), dir.path("locks")));
  CHECK(mode_of(dir.path("state")) == 0700);
}

TEST_CASE("A state folder that is a symbolic link is refused") {
  const test::TempDir dir;
  fs::create_directories(dir.path("elsewhere"));
  fs::create_directory_symlink("elsewhere", dir.path("state"));
  const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
  REQUIRE_FALSE(store);
  CHECK(store.error().code == Errc::denied);
}

TEST_CASE("A part of the state that is a symbolic link is refused") {
  const test::TempDir dir;
  const std::string part =
      GENERATE("state/attachments", "state/devices", "state/baselines", "state/unclean", "locks");
  fs::create_directories(dir.path("elsewhere"));
  fs::create_directories(dir.path("state"));
  fs::create_directory_symlink(dir.path("elsewhere"), dir.path(part));
  const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
  REQUIRE_FALSE(store);
  CHECK(store.error().code == Errc::denied);
}

TEST_CASE("A folder that replaces the lock folder after it was checked gets no locks") {
  Store s;
  fs::create_directories(s.dir.path("elsewhere"));
  fs::rename(s.dir.path("locks"), s.dir.path("moved"));
  fs::create_directory_symlink(s.dir.path("elsewhere"), s.dir.path("locks"));
  const auto lock = s.store.lock_device("0000:03:02.1", std::chrono::milliseconds{0});
  REQUIRE(lock);
  CHECK(fs::exists(s.dir.path("moved/0000:03:02.1")));
  CHECK(fs::is_empty(s.dir.path("elsewhere")));
}

TEST_CASE("A state folder of another user is refused", "[root]") {
  if (::geteuid() != 0) return;
  const test::TempDir dir;
  fs::create_directories(dir.path("state"));
  REQUIRE(::chown(dir.path("state").c_str(), 65534, 65534) == 0);
  const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
  REQUIRE_FALSE(store);
  CHECK(store.error().code == Errc::denied);
}

TEST_CASE("A part of the state that belongs to another user is refused", "[root]") {
  if (::geteuid() != 0) return;
  const test::TempDir dir;
  const std::string part = GENERATE("attachments", "devices", "baselines", "unclean");
  fs::create_directories(dir.path("state/" + part));
  REQUIRE(::chown(dir.path("state/" + part).c_str(), 65534, 65534) == 0);
  const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
  REQUIRE_FALSE(store);
  CHECK(store.error().code == Errc::denied);
}

TEST_CASE("A store can be opened twice") {
  Store s;
  REQUIRE(s.store.save(full_record()));
  const auto again = RecordStore::open(s.folder, s.dir.path("locks"));
  REQUIRE(again);
  CHECK(again->list()->size() == 1);
}

TEST_CASE("Locks of two devices are independent, those of one device are not") {
  Store s;
  const auto first = s.store.lock_device("0000:03:02.1", std::chrono::milliseconds{0});
  REQUIRE(first);
  CHECK(s.store.lock_device("0000:03:02.2", std::chrono::milliseconds{0}));
  CHECK(s.store.lock_device("0000:03:02.1", std::chrono::milliseconds{0}).error().code == Errc::busy);
  CHECK(s.store.lock_rdma(std::chrono::milliseconds{0}));
}

namespace {

// What else can have the name of a file: a FIFO, a link to /etc/hostname, a folder with a file.
void put_odd(const std::string& kind, const std::string& path) {
  if (kind == "a FIFO") REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  if (kind == "a link") fs::create_symlink("/etc/hostname", path);
  if (kind == "a folder") fs::create_directories(path + "/x");
}

constexpr std::chrono::milliseconds kNow{0};

}  // namespace

TEST_CASE("What is not a file in the place of a record is quarantined as one that cannot be read") {
  const std::string kind = GENERATE("a FIFO", "a link", "a folder");
  CAPTURE(kind);
  Store s;
  const AttachmentName name{"abc", "net1"};
  for (int round = 0; round < 2; ++round) {
    put_odd(kind, s.folder + "/attachments/abc:net1.json");
    CHECK(s.store.load(name).error().code == Errc::protocol);
    REQUIRE(s.store.quarantine(name));
    CHECK_FALSE(s.store.load(name)->has_value());
  }
  CHECK(s.store.list()->empty());
  REQUIRE(s.store.save(full_record()));
}

TEST_CASE("What is not a file in the place of a lock, or of what save() writes, is put out of the way") {
  const std::string kind = GENERATE("a FIFO", "a link", "a folder");
  CAPTURE(kind);
  Store s;
  const Record record = full_record();
  const std::string lock = s.dir.path("locks/" + record.device_key);
  for (int round = 0; round < 2; ++round) {
    put_odd(kind, lock);
    const auto held = s.store.lock_device(record.device_key, kNow);
    REQUIRE(held);
    CHECK(fs::is_regular_file(fs::symlink_status(lock)));
    CHECK(s.store.is_locked(record.device_key));
  }
  put_odd(kind, s.folder + "/devices/" + record.device_key + ".new");
  REQUIRE(s.store.save(record));
  CHECK(*s.store.owner(record.device_key) == record.attachment);
  // What a folder was renamed to is no leftover of ours.
  CHECK(s.store.leftovers()->empty());
}

TEST_CASE("What is not a link in the place of an owner is moved aside, and the record says whose it is") {
  const std::string kind = GENERATE("a FIFO", "a folder");
  CAPTURE(kind);
  Store s;
  const Record record = full_record();
  REQUIRE(s.store.save(record));
  const std::string path = s.folder + "/devices/" + record.device_key;
  fs::remove(path);
  put_odd(kind, path);
  const auto held = s.store.lock_device(record.device_key, kNow);
  REQUIRE(held);
  CHECK(*s.store.find_owner(record.device_key) == record.attachment);
  CHECK(*s.store.owner(record.device_key) == record.attachment);
  // Of two records nobody knows which one has it.
  Record other = record;
  other.attachment.container_id = "def";
  REQUIRE(s.store.save(other));
  fs::remove(path);
  put_odd(kind, path);
  CHECK_FALSE(s.store.find_owner(record.device_key)->has_value());
}

TEST_CASE("A clean-up moves what is not ours aside, once") {
  Store s;
  put_odd("a folder", s.dir.path("locks/abc"));
  put_odd("a folder", s.folder + "/devices/0000:03:02.1");
  put_odd("a folder", s.folder + "/devices/0000:03:02.2.new");
  put_odd("a FIFO", s.folder + "/devices/0000:03:02.3");
  const auto found = s.store.leftovers();
  REQUIRE(found);
  CHECK(found->size() == 4);
  for (const std::string& path : *found) CHECK(s.store.remove_leftover(path).ok());
  CHECK(s.store.leftovers()->empty());
}

}  // namespace vfrail
