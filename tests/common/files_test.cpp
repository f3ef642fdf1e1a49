// common/files.h: nothing half-written, nothing left over, one holder at a time.
#include "common/files.h"

#include "tests/support/temp_dir.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

size_t entries(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

// What somebody else can put in the place of a file, and how an error names it.
enum class Odd : uint8_t { fifo, symlink, dangling, folder, socket };
constexpr std::pair<Odd, const char*> kOdd[] = {{Odd::fifo, "a FIFO"},
                                                {Odd::symlink, "a symbolic link"},
                                                {Odd::dangling, "a symbolic link"},
                                                {Odd::folder, "a folder"},
                                                {Odd::socket, "a socket"}};

// Links lead to "victim" in the same folder; a folder has a file.
void put(Odd what, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  switch (what) {
    case Odd::fifo:
      REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
      return;
    case Odd::symlink:
      std::ofstream(folder + "/victim") << "safe";
      [[fallthrough]];
    case Odd::dangling:
      return fs::create_symlink("victim", path);
    case Odd::folder:
      fs::create_directories(path);
      std::ofstream(path + "/x") << "kept";
      return;
    case Odd::socket: {
      const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un name{};
      name.sun_family = AF_UNIX;
      REQUIRE(path.copy(name.sun_path, sizeof name.sun_path - 1) == path.size());
      REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
      return;
    }
  }
}

std::string content(const std::string& path) {
  const auto text = read_file(path, 100);
  return text && *text ? **text : "";
}

// Runs `body` in another process; its answer is the exit status.
pid_t in_process(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

int exit_status(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

TEST_CASE("A written file has its content and mode, and no temporary file is left") {
  const test::TempDir dir;
  const mode_t before = ::umask(077);
  CHECK(write_file(dir.path("f"), "one", 0600, Durability::synced));
  CHECK(write_file(dir.path("f"), "two", 0444, Durability::renamed));
  ::umask(before);
  CHECK(*read_file(dir.path("f"), 100).value_or(std::nullopt) == "two");
  CHECK(mode_of(dir.path("f")) == 0444);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("A write that fails leaves no temporary file") {
  const test::TempDir dir;
  fs::create_directories(dir.path("f/full"));  // a folder cannot be replaced by a file
  const auto written = write_file(dir.path("f"), "x", 0600, Durability::renamed);
  REQUIRE_FALSE(written);
  CHECK(written.error().text.find("rename") != std::string::npos);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("A write into a folder that does not exist names the file") {
  const auto written = write_file("/nonexistent/f", "x", 0600, Durability::renamed);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::not_found);
  CHECK(written.error().text.find("/nonexistent/f") != std::string::npos);
}

TEST_CASE("A write replaces a symbolic link and not the file behind it") {
  const test::TempDir dir;
  REQUIRE(write_file(dir.path("victim"), "safe", 0600, Durability::renamed));
  fs::create_symlink("victim", dir.path("link"));
  REQUIRE(write_file(dir.path("link"), "new", 0600, Durability::renamed));
  CHECK(*read_file(dir.path("victim"), 100).value_or(std::nullopt) == "safe");
}

TEST_CASE("A symbolic link is not read, a missing file is no value, a long one is refused") {
  const test::TempDir dir;
  REQUIRE(write_file(dir.path("f"), "12345", 0600, Durability::renamed));
  fs::create_symlink("f", dir.path("link"));
  CHECK_FALSE(read_file(dir.path("link"), 100));
  CHECK_FALSE(read_file(dir.path("none"), 100).value_or("x").has_value());
  CHECK_FALSE(read_file(dir.path("f/below"), 100).value_or("x").has_value());
  CHECK(read_file(dir.path("f"), 5));
  const auto long_one = read_file(dir.path("f"), 4);
  REQUIRE_FALSE(long_one);
  CHECK(long_one.error().code == Errc::invalid);
}

TEST_CASE("Removing a missing file succeeds, removing a folder does not") {
  const test::TempDir dir;
  CHECK(remove_file(dir.path("none")));
  CHECK_FALSE(remove_file(dir.path()));
}

TEST_CASE("A folder is created with its parents, and an existing one is left unchanged") {
  const test::TempDir dir;
  CHECK(make_folder(dir.path("a/b/c"), 0700));
  CHECK(mode_of(dir.path("a/b/c")) == 0700);
  REQUIRE(::chmod(dir.path("a/b").c_str(), 0750) == 0);
  CHECK(make_folder(dir.path("a/b"), 0700));
  CHECK(mode_of(dir.path("a/b")) == 0750);
}

TEST_CASE("A folder below a file cannot be made") {
  const test::TempDir dir;
  REQUIRE(write_file(dir.path("f"), "", 0600, Durability::renamed));
  CHECK_FALSE(make_folder(dir.path("f/x"), 0700));
}

TEST_CASE("A file that is marked as unread is so until it is read, unless the reader keeps its access time") {
  const test::TempDir dir;
  struct statvfs mount {};
  REQUIRE(::statvfs(dir.path().c_str(), &mount) == 0);
  if ((mount.f_flag & ST_NOATIME) != 0) return;
  const std::string path = dir.path("f");
  REQUIRE(write_file(Replacement{path, path + ".new", true}, "x", 0600, Durability::renamed));
  const auto is_unread = [&] {
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_atim.tv_sec < info.st_mtim.tv_sec;
  };
  CHECK(is_unread());
  CHECK(read_file(path, 10, AccessTime::kept).value_or(std::nullopt) == "x");
  CHECK(is_unread());
  CHECK(read_file(path, 10).value_or(std::nullopt) == "x");
  CHECK_FALSE(is_unread());
}

TEST_CASE("A file of another user is read although its access time cannot be kept", "[root]") {
  if (::geteuid() != 0) return;
  const test::TempDir dir;
  REQUIRE(write_file(dir.path("f"), "x", 0644, Durability::renamed));
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  const pid_t other = in_process([&] {
    if (::setuid(65534) != 0) return 1;
    return read_file(dir.path("f"), 10, AccessTime::kept).value_or(std::nullopt) == "x" ? 0 : 2;
  });
  CHECK(exit_status(other) == 0);
}

TEST_CASE("A stream is read to its end and no further than the limit") {
  int fds[2];
  REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
  const UniqueFd from(fds[0]);
  UniqueFd to(fds[1]);
  REQUIRE(::write(to.get(), "hello", 5) == 5);
  to.reset();
  CHECK(read_stream(from.get(), 5).value_or("") == "hello");
}

TEST_CASE("The file of a lock is removed with the lock") {
  const test::TempDir dir;
  {
    const auto lock = FileLock::acquire(dir.path("lock"), milliseconds{0});
    REQUIRE(lock);
    CHECK(mode_of(dir.path("lock")) == 0600);
  }
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("A lock that another process holds is busy at the deadline") {
  const test::TempDir dir;
  auto lock = FileLock::acquire(dir.path("lock"), milliseconds{0});
  REQUIRE(lock);
  const pid_t other = in_process([&] {
    const auto start = std::chrono::steady_clock::now();
    const auto second = FileLock::acquire(dir.path("lock"), milliseconds{50});
    const auto took = std::chrono::steady_clock::now() - start;
    return !second && second.error().code == Errc::busy && took >= milliseconds{50} ? 0 : 1;
  });
  CHECK(exit_status(other) == 0);
  CHECK(fs::exists(dir.path("lock")));
}

TEST_CASE("The error of a waiter for a lock names the holder and its purpose") {
  const test::TempDir dir;
  // A killed holder's text, longer than the next one's.
  std::ofstream(dir.path("lock")) << std::string(400, 'x');
  const auto lock =
      FileLock::acquire(dir.path("lock"), milliseconds{0}, {.text = "DEL of net1 of\tcontainer c1"});
  REQUIRE(lock);
  const auto second = FileLock::acquire(dir.path("lock"), milliseconds{10});
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().text, Catch::Contains(dir.path("lock") + " has been held for ") &&
                                      Catch::Contains(" s by process " + std::to_string(::getpid()) +
                                                      " (common_tests), DEL of net1 of?container c1;"));
  CHECK(second.error().text.find("xx") == std::string::npos);
}

TEST_CASE("The lock of a process that dies is free") {
  const test::TempDir dir;
  const pid_t other = in_process([&] {
    const auto lock = FileLock::acquire(dir.path("lock"), milliseconds{0});
    ::_exit(lock ? 0 : 1);  // no destructor: as if killed
    return 1;
  });
  REQUIRE(exit_status(other) == 0);
  CHECK(fs::exists(dir.path("lock")));
  CHECK(FileLock::acquire(dir.path("lock"), milliseconds{0}));
}

TEST_CASE("A symbolic link in the place of a lock is refused") {
  const test::TempDir dir;
  fs::create_symlink("elsewhere", dir.path("lock"));
  CHECK_FALSE(FileLock::acquire(dir.path("lock"), milliseconds{0}));
  CHECK_FALSE(fs::exists(dir.path("elsewhere")));
}

TEST_CASE("A lock that was moved is released once") {
  const test::TempDir dir;
  auto first = FileLock::acquire(dir.path("lock"), milliseconds{0});
  REQUIRE(first);
  {
    const FileLock second = std::move(*first);
    CHECK(fs::exists(dir.path("lock")));
  }
  CHECK_FALSE(fs::exists(dir.path("lock")));
}

TEST_CASE("No increment of a counter is lost between 8 processes that take the lock") {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 200;
  const test::TempDir dir;
  REQUIRE(write_file(dir.path("counter"), "0", 0600, Durability::renamed));
  const auto increment = [&] {
    for (int round = 0; round < kRounds; ++round) {
      const auto lock = FileLock::acquire(dir.path("lock"), milliseconds{30'000});
      const auto text = read_file(dir.path("counter"), 100);
      if (!lock || !text || !*text) return 1;
      const std::string next = std::to_string(std::stoi(**text) + 1);
      if (!write_file(dir.path("counter"), next, 0600, Durability::renamed)) return 1;
    }
    return 0;
  };
  std::vector<pid_t> processes;
  for (int i = 0; i < kProcesses; ++i) processes.push_back(in_process(increment));
  for (const pid_t pid : processes) CHECK(exit_status(pid) == 0);
  CHECK(*read_file(dir.path("counter"), 100).value_or(std::nullopt) == std::to_string(kProcesses * kRounds));
  CHECK_FALSE(fs::exists(dir.path("lock")));
}

TEST_CASE("Nothing but a regular file is read, and nothing is waited for") {
  for (const auto& [odd, words] : kOdd) {
    INFO(words);
    const test::TempDir dir;
    put(odd, dir.path("f"));
    const auto read = read_file(dir.path("f"), 100);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::protocol);
    CHECK_THAT(read.error().text, Catch::Contains(dir.path("f") + " is " + words));
    CHECK_FALSE(open_regular(dir.path("f"), O_WRONLY, SecondName::allowed));
  }
}

TEST_CASE("A file with a second name is read, and not opened to be written") {
  const test::TempDir dir;
  std::ofstream(dir.path("victim")) << "safe";
  fs::create_hard_link(dir.path("victim"), dir.path("f"));
  CHECK(content(dir.path("f")) == "safe");
  const auto opened = open_regular(dir.path("f"), O_WRONLY, SecondName::refused);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().text, Catch::Contains("a hard link"));
}

TEST_CASE("A write is not misled by what has the temporary name") {
  for (const auto& [odd, words] : kOdd) {
    INFO(words);
    const test::TempDir dir;
    put(odd, dir.path("f.new"));
    const bool has_victim = fs::exists(dir.path("victim"));
    REQUIRE(write_file({dir.path("f"), dir.path("f.new")}, "new", 0600, Durability::renamed));
    CHECK(content(dir.path("f")) == "new");
    CHECK(fs::is_regular_file(fs::symlink_status(dir.path("f"))));
    CHECK(fs::exists(dir.path("victim")) == has_victim);
    if (has_victim) CHECK(content(dir.path("victim")) == "safe");
    // A folder stays, with what is in it; anything else gave way.
    CHECK(fs::exists(dir.path("f.new/x")) == (odd == Odd::folder));
    CHECK(entries(dir.path()) == 1U + (has_victim ? 1 : 0) + (odd == Odd::folder ? 1 : 0));
  }
}

TEST_CASE("A write does not go through a second name of its temporary file") {
  const test::TempDir dir;
  std::ofstream(dir.path("victim")) << "safe";
  fs::create_hard_link(dir.path("victim"), dir.path("f.new"));
  REQUIRE(write_file({dir.path("f"), dir.path("f.new")}, "new", 0600, Durability::renamed));
  CHECK(content(dir.path("f")) == "new");
  CHECK(content(dir.path("victim")) == "safe");
}

TEST_CASE("What is not a file in the place of a lock is refused by its kind") {
  for (const auto& [odd, words] : kOdd) {
    INFO(words);
    const test::TempDir dir;
    put(odd, dir.path("lock"));
    const auto lock = FileLock::acquire(dir.path("lock"), milliseconds{0});
    REQUIRE_FALSE(lock);
    CHECK(lock.error().code == Errc::protocol);
    CHECK_THAT(lock.error().text, Catch::Contains(words));
  }
}

TEST_CASE("A lock with a second name is replaced and not written, once nobody holds it") {
  const test::TempDir dir;
  std::ofstream(dir.path("victim")) << "safe";
  fs::create_hard_link(dir.path("victim"), dir.path("lock"));
  {
    const UniqueFd holder(::open(dir.path("victim").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::flock(holder.get(), LOCK_EX | LOCK_NB) == 0);
    CHECK(FileLock::acquire(dir.path("lock"), milliseconds{0}).error().code == Errc::busy);
  }
  const auto lock = FileLock::acquire(dir.path("lock"), milliseconds{0}, {.text = "DEL"});
  REQUIRE(lock);
  CHECK(content(dir.path("victim")) == "safe");
  CHECK_THAT(content(dir.path("lock")), Catch::Contains("DEL"));
}

TEST_CASE("A name is freed of whatever has it, and only a folder is kept, under another name") {
  for (const auto& [odd, words] : kOdd) {
    INFO(words);
    const test::TempDir dir;
    for (int round = 0; round < 2; ++round) {
      put(odd, dir.path("f"));
      REQUIRE(free_name(dir.path("f")));
      CHECK_FALSE(fs::exists(fs::symlink_status(dir.path("f"))));
    }
    CHECK(fs::exists(dir.path("f.corrupt/x")) == (odd == Odd::folder));
    CHECK(fs::exists(dir.path("f.corrupt.2/x")) == (odd == Odd::folder));
    if (odd == Odd::symlink) CHECK(content(dir.path("victim")) == "safe");
    CHECK(free_name(dir.path("f")));
  }
}

TEST_CASE("A file is removed if it is the same, and a later one of its name stays") {
  const test::TempDir dir;
  const std::string path = dir.path("f");
  REQUIRE(write_file(path, "one", 0600, Durability::renamed));
  const std::string one = identity_of_file(path);
  CHECK_FALSE(*remove_same_file(path, ""));
  REQUIRE(write_file(path, "two", 0600, Durability::renamed));
  CHECK_FALSE(*remove_same_file(path, one));
  CHECK(content(path) == "two");
  CHECK(*remove_same_file(path, identity_of_file(path)));
  CHECK(entries(dir.path()) == 0);
  CHECK_FALSE(*remove_same_file(path, one));
  CHECK(identity_of_file(path).empty());
}

}  // namespace vfrail
