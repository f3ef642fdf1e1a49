// common/log.h: one line a fact, whatever its fields hold.
#include "common/log.h"

#include "common/json.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

struct LogToFile {
  test::TempDir dir;
  Log log;
  LogToFile() { REQUIRE(log.open_file(dir.path("log"))); }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(dir.path("log")).rdbuf();
    return out.str();
  }
  // The line without its time.
  std::string line() const { return std::regex_replace(text(), std::regex("^[^ ]+ "), ""); }
};

}  // namespace

TEST_CASE("A log line has time, level, message and fields") {
  LogToFile out;
  out.log.add_context("cid", "abc");
  out.log.info("attached", {{"device", "0000:03:02.1"}});
  CHECK(std::regex_match(
      out.text(),
      std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info attached cid=abc device=0000:03:02\.1\n)")));
}

TEST_CASE("A field that is empty or has blanks, quotes or control characters is quoted") {
  const auto [value, shown] =
      GENERATE(table<std::string, std::string>({{"", R"("")"},
                                                {"a b", R"("a b")"},
                                                {"a\"b", R"("a\"b")"},
                                                {"a=b", R"("a=b")"},
                                                {"a\nb", R"("a\nb")"},
                                                {"a\x1b[31m", R"("a\u001B[31m")"},
                                                {"a\x7f\xC2\x9b", R"("a\u007f\u009b")"},
                                                {"plain", "plain"}}));
  LogToFile out;
  out.log.info("m", {{"k", value}});
  CHECK(out.line() == "info m k=" + shown + "\n");
}

TEST_CASE("A message with line ends and control characters stays one line") {
  LogToFile out;
  out.log.error("IPAM said: a\n2026-01-01 info forged\r\x1b[2J");
  const std::string text = out.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("Messages below the log level are not written") {
  LogToFile out;
  out.log.set_level(LogLevel::warning);
  out.log.debug("d");
  out.log.info("i");
  out.log.warning("w");
  CHECK(out.line() == "warning w\n");
}

TEST_CASE("The JSON form has the same facts and can be parsed") {
  LogToFile out;
  out.log.set_format(LogFormat::json);
  out.log.add_context("cid", "abc");
  out.log.error("a \"b\"\n", {{"k", "v w"}});
  const auto json = Json::parse(out.text());
  REQUIRE(json);
  CHECK(*json->find("level") == Json("error"));
  CHECK(*json->find("msg") == Json("a \"b\"\n"));
  CHECK(*json->find("cid") == Json("abc"));
  CHECK(*json->find("k") == Json("v w"));
  CHECK(json->find("time") != nullptr);
}

TEST_CASE("The JSON form can be parsed whatever bytes a message or field has") {
  LogToFile out;
  out.log.set_format(LogFormat::json);
  out.log.error("cut \xc3", {{"k", "\xff"}});
  const auto json = Json::parse(out.text());
  REQUIRE(json);
  CHECK(*json->find("msg") == Json("cut \xef\xbf\xbd"));
}

TEST_CASE("A log file is appended to and only its owner can read it") {
  LogToFile out;
  out.log.info("one");
  Log second;
  REQUIRE(second.open_file(out.dir.path("log")));
  second.info("two");
  const std::string text = out.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  struct stat info {};
  REQUIRE(::stat(out.dir.path("log").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("A symbolic link is refused as a log file") {
  const test::TempDir dir;
  std::filesystem::create_symlink("target", dir.path("log"));
  Log log;
  CHECK_FALSE(log.open_file(dir.path("log")));
}

TEST_CASE("A file that is not regular is refused as a log file without blocking") {
  const test::TempDir dir;
  const std::string path = dir.path("log");
  SECTION("a pipe without a reader") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  SECTION("a socket") {
    const vfrail::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  SECTION("a folder") { std::filesystem::create_directory(path); }
  SECTION("a device, because opening a watchdog starts it") {
    REQUIRE(::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0);  // zero
  }
  Log log;
  const auto opened = log.open_file(path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().text.find("is not a regular file") != std::string::npos);
}

TEST_CASE("The names of the log levels are those of the peers") {
  CHECK(parse_log_level("panic") == LogLevel::error);
  CHECK(parse_log_level("error") == LogLevel::error);
  CHECK(parse_log_level("warning") == LogLevel::warning);
  CHECK(parse_log_level("info") == LogLevel::info);
  CHECK(parse_log_level("debug") == LogLevel::debug);
  CHECK_FALSE(parse_log_level("Debug").has_value());
  CHECK_FALSE(parse_log_level("").has_value());
}

TEST_CASE("A log file with a second name is not written to, because another file would grow") {
  const test::TempDir dir;
  std::ofstream(dir.path("victim")) << "safe";
  std::filesystem::create_hard_link(dir.path("victim"), dir.path("log"));
  Log log;
  const auto opened = log.open_file(dir.path("log"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().text.find("a hard link") != std::string::npos);
}

}  // namespace vfrail
