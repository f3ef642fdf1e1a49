// ConfigSource on real files, as editors, admins and kubelet change them.
#include "plugin/device/config/formats/source.h"

#include "plugin/device/config/formats/file.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

using Reload = ConfigSource::Reload;

namespace fs = std::filesystem;

std::string text(const std::string& name) {
  return R"({"resourceList": [{"resourceName": ")" + name + R"(", "selectors": {"vendors": ["15b3"]}}]})";
}

void write(const std::string& path, const std::string& content) { std::ofstream(path) << content; }

Result<ConfigSource> open(const std::string& file) {
  return ConfigSource::open({.file = file, .socket_folder = "/" + std::string(85, 'd')});
}

// Something happened to the file.
bool woken(ConfigSource& config) {
  pollfd fd{config.fd(), POLLIN, 0};
  const bool out = ::poll(&fd, 1, static_cast<int>(test::kDeadline.count())) == 1;
  config.drain();
  return out;
}

struct Logged {
  explicit Logged(const TempDir& folder) : file(folder.path("log")) { (void)log.open_file(file); }
  size_t lines() const {
    std::ifstream in(file);
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
  std::string all() const {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }
  std::string file;
  Log log;
};

// The folder of a mounted ConfigMap, as kubelet's atomic writer makes it.
void swap_config_map(const fs::path& folder, const std::string& version, const std::string& content) {
  fs::create_directories(folder / version);
  write(folder / version / "config.json", content);
  fs::create_directory_symlink(version, folder / "..data_tmp");
  fs::rename(folder / "..data_tmp", folder / "..data");
  if (!fs::is_symlink(folder / "config.json"))
    fs::create_symlink("..data/config.json", folder / "config.json");
}

}  // namespace

TEST_CASE("a configuration that is changed in any way is noticed and read") {
  const TempDir folder;
  const TempDir logs;
  Logged logged(logs);
  const fs::path at = folder.path();
  swap_config_map(at, "..2026_1", text("a"));
  const std::string file = at / "config.json";
  auto config = open(file);
  REQUIRE(config);
  REQUIRE(config->now().resources[0].name == "a");
  SECTION("kubelet swaps the ConfigMap's link") {
    swap_config_map(at, "..2026_2", text("b"));
    fs::remove_all(at / "..2026_1");
  }
  SECTION("an editor renames a new file over it") {
    write(at / "config.json.new", text("b"));
    fs::rename(at / "config.json.new", file);
  }
  SECTION("it is rewritten in place, where its link leads") { write(file, text("b")); }
  SECTION("it is removed and created again") {
    fs::remove(file);
    write(file, text("b"));
  }
  REQUIRE(woken(*config));
  CHECK(config->reload(logged.log) == Reload::changed);
  CHECK(config->now().resources[0].name == "b");
  CHECK(config->reload(logged.log) == Reload::same);
  CHECK(logged.lines() == 0);
}

TEST_CASE("each further change is noticed, wherever the links lead by then") {
  const TempDir folder;
  const TempDir logs;
  Logged logged(logs);
  const fs::path at = folder.path();
  swap_config_map(at, "..2026_0", text("r0"));
  auto config = open(at / "config.json");
  REQUIRE(config);
  for (int i = 1; i < 5; ++i) {
    swap_config_map(at, "..2026_" + std::to_string(i), text("r" + std::to_string(i)));
    fs::remove_all(at / ("..2026_" + std::to_string(i - 1)));
    REQUIRE(woken(*config));
    CHECK(config->reload(logged.log) == Reload::changed);
    CHECK(config->now().resources[0].name == "r" + std::to_string(i));
  }
}

TEST_CASE("a broken configuration leaves the last good one, and is logged once for each reason") {
  const TempDir folder;
  const TempDir logs;
  Logged logged(logs);
  const std::string file = folder.path("config.json");
  write(file, text("a"));
  auto config = open(file);
  REQUIRE(config);
  for (const char* broken : {"{", R"({"resourceList": [{"resourceName": "a b", "selectors": {}}]})"}) {
    const size_t before = logged.lines();
    write(file, broken);
    CHECK(config->reload(logged.log) == Reload::refused);
    CHECK(config->reload(logged.log) == Reload::same);
    CHECK(logged.lines() == before + 1);
    CHECK(config->now().resources[0].name == "a");
  }
  write(file, text("too-long-for-a-socket"));
  CHECK(config->reload(logged.log) == Reload::refused);
  CHECK(logged.all().find("a unix socket's path can have 107") != std::string::npos);
  fs::remove(file);
  CHECK(config->reload(logged.log) == Reload::refused);
  CHECK(logged.lines() == 4);
  CHECK(config->now().resources[0].name == "a");
  // The fault recurs later, and is logged again.
  write(file, text("b"));
  CHECK(config->reload(logged.log) == Reload::changed);
  write(file, "{");
  CHECK(config->reload(logged.log) == Reload::refused);
  CHECK(logged.lines() == 5);
}

TEST_CASE("a broken configuration at the start is an error that names the file") {
  const TempDir folder;
  const std::string file = folder.path("config.json");
  CHECK(open(file).error().text.find(file) != std::string::npos);
  write(file, text("too-long-for-a-socket"));
  CHECK(open(file).error().text.find("a unix socket's path can have 107") != std::string::npos);
}

TEST_CASE("a faulty entry removes no served resource, and does not block the others") {
  const TempDir folder;
  const TempDir logs;
  Logged logged(logs);
  const std::string file = folder.path("config.json");
  const auto entries = [](const std::string& a, const std::string& b) {
    return R"({"resourceList": [{"resourceName": "a", "selectors": {"vendors": )" + a +
           R"(}}, {"resourceName": "b", "selectors": {"vendors": )" + b + "}}]}";
  };
  write(file, entries("[]", "5"));
  auto config = open(file);
  REQUIRE(config);
  CHECK(config->now().resources.size() == 1);
  CHECK(config->now().skipped.at(0).resource == "intel.com/b");
  write(file, entries(R"(["15b3"])", "6"));  // b is as faulty as before
  CHECK(config->reload(logged.log) == Reload::changed);
  CHECK(config->now().resources.at(0).selectors.at(0).list("vendors").size() == 1);
  write(file, entries("5", "[]"));
  CHECK(config->reload(logged.log) == Reload::refused);
  CHECK(config->now().resources.at(0).name == "a");
  write(file, R"({"resourceList": [{"resourceName": 5}, {"resourceName": "b", "selectors": {}}]})");
  CHECK(config->reload(logged.log) == Reload::refused);  // the entry without a name may be a's
  write(file, entries("[]", "[]"));
  CHECK(config->reload(logged.log) == Reload::changed);
  CHECK(config->now().resources.size() == 2);
  CHECK(config->now().skipped.empty());
}

TEST_CASE("a configuration from stdin is read once, and stays") {
  const TempDir folder;
  write(folder.path("config.json"), text("one"));
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(folder.path("config.json").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE((saved >= 0 && file >= 0));
  ::dup2(file, STDIN_FILENO);
  auto config = open("-");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(file);
  REQUIRE(config);
  CHECK(config->now().resources.at(0).name == "one");
  Logged log(folder);
  CHECK(config->reload(log.log) == Reload::same);
  CHECK(log.lines() == 0);
  CHECK(config->now().resources.size() == 1);
}

TEST_CASE("a mounted ConfigMap may have its configuration in YAML, and a change of it is followed") {
  const TempDir folder;
  const std::string file = folder.path("config.yaml");
  const auto yaml = [](const std::string& name) {
    return "resourceList:\n- resourceName: " + name + "\n  selectors: {vendors: [15b3]}\n";
  };
  write(file, yaml("one"));
  auto config = open(file);
  REQUIRE(config);
  Logged log(folder);
  write(file, yaml("two"));
  CHECK(config->reload(log.log) == Reload::changed);
  CHECK(config->now().resources.at(0).name == "two");
  write(file, "resourceList: [");
  CHECK(config->reload(log.log) == Reload::refused);
  CHECK(config->now().resources.at(0).name == "two");
  CHECK(log.all().find("config.yaml: document 1: line ") != std::string::npos);
}

TEST_CASE("a configuration comes through a pipe of the shell, whose command prints it later") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread command([fd = ends[1]] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the reader is there first, mostly
    const std::string all = text("a");
    REQUIRE(::write(fd, all.data(), 10) == 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    REQUIRE(::write(fd, all.data() + 10, all.size() - 10) == static_cast<ssize_t>(all.size()) - 10);
    ::close(fd);
  });
  const auto config = load_config({.file = "/dev/fd/" + std::to_string(ends[0])});
  command.join();
  ::close(ends[0]);
  REQUIRE(config);
  CHECK(config->resources.at(0).name == "a");
}

TEST_CASE("a named pipe that nobody writes to keeps nobody waiting") {
  const TempDir folder;
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  CHECK_FALSE(load_config({.file = folder.path("fifo")}));
}

}  // namespace vfrail::test
