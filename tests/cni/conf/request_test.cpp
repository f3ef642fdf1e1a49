// cni/conf/request.h: the environment that a runtime gives, or that somebody hostile gives.
#include "cni/conf/request.h"

#include "common/node/attachment_record.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

Environment attachment(const std::string& command) {
  return {{"CNI_COMMAND", command}, {"CNI_CONTAINERID", "abc123"}, {"CNI_NETNS", "/run/netns/x"},
          {"CNI_IFNAME", "net1"},   {"CNI_PATH", "/opt/cni/bin"},  {"CNI_ARGS", "IgnoreUnknown=1"}};
}

std::string refusal(const Environment& environment) {
  const auto request = read_request(environment, std::string("{}"));
  if (request) return "";
  CHECK(request.error().code == Errc::invalid);
  return request.error().text;
}

// What is said when one variable of an ADD has another value.
std::string refusal_of(const std::string& name, const std::string& value) {
  Environment environment = attachment("ADD");
  environment[name] = value;
  return refusal(environment);
}

}  // namespace

TEST_CASE("A complete environment becomes a request") {
  Environment environment = attachment("ADD");
  environment["CNI_PATH"] = "/opt/cni/bin::relative:/usr/lib/cni:";
  environment["CNI_ARGS"] = "IgnoreUnknown=true;K8S_POD_NAME=a;MAC=02:00:00:00:00:01;EMPTY=";
  const auto request = read_request(environment, std::string("the text"));
  REQUIRE(request);
  CHECK(request->command == Command::add);
  CHECK(request->container_id == "abc123");
  CHECK(request->netns == "/run/netns/x");
  CHECK(request->ifname == "net1");
  CHECK(request->path == std::vector<std::string>{"/opt/cni/bin", "/usr/lib/cni"});
  CHECK(request->raw_path == environment["CNI_PATH"]);
  CHECK(request->args.at("MAC") == "02:00:00:00:00:01");
  CHECK(request->args.at("EMPTY").empty());
  CHECK(request->config.text() == "the text");
  CHECK_FALSE(request->netns_override);
}

TEST_CASE("Each verb needs its variables and names each one that is missing") {
  struct Needs {
    const char* command;
    std::vector<std::string> variables;
  };
  const auto needs = GENERATE(Needs{"ADD", {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}},
                              Needs{"CHECK", {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}},
                              Needs{"DEL", {"CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"}},
                              Needs{"GC", {"CNI_PATH"}}, Needs{"STATUS", {}}, Needs{"VERSION", {}});
  CAPTURE(needs.command);
  const std::string text = refusal({{"CNI_COMMAND", needs.command}});
  for (const char* name : {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}) {
    const auto& list = needs.variables;
    const bool wanted = std::find(list.begin(), list.end(), name) != list.end();
    CHECK((text.find(std::string(name) + " is missing") != std::string::npos) == wanted);
  }
}

TEST_CASE("DEL needs no network namespace") {
  Environment environment = attachment("DEL");
  environment["CNI_NETNS"] = "";
  CHECK(read_request(environment, std::string("{}")));
  environment.erase("CNI_NETNS");
  CHECK(read_request(environment, std::string("{}")));
}

TEST_CASE("An unknown or missing command is refused") {
  CHECK(refusal({}).find("CNI_COMMAND is missing") != std::string::npos);
  CHECK(refusal_of("CNI_COMMAND", "add").find("CNI_COMMAND must be one of ADD, ") != std::string::npos);
}

TEST_CASE("VERSION reads nothing but the command") {
  Environment environment{{"CNI_COMMAND", "VERSION"}, {"CNI_CONTAINERID", "../.."}, {"CNI_ARGS", "junk"}};
  CHECK(read_request(environment, std::string("")));
}

TEST_CASE("A container id that could name another attachment's file is refused") {
  const std::string id =
      GENERATE(as<std::string>(), "..", ".", ".hidden", "-rf", "_x", "a/b", "../../etc/passwd", "a:b", "a b",
               "a\nb", "ä", "a%2fb", std::string("a\0b", 3), std::string(100'000, 'a'));
  CAPTURE(id);
  const std::string text = refusal_of("CNI_CONTAINERID", id);
  CHECK(text.find("CNI_CONTAINERID") != std::string::npos);
  CHECK(text.size() < 300);
}

TEST_CASE("A container id is no longer than a file name") {
  CHECK(refusal_of("CNI_CONTAINERID", std::string(200, 'a')).empty());
  CHECK_FALSE(refusal_of("CNI_CONTAINERID", std::string(201, 'a')).empty());
  CHECK(valid_container_id("a"));
  CHECK(valid_container_id("0_.-Z"));
  CHECK_FALSE(valid_container_id(std::string("a\0b", 3)));
}

TEST_CASE("What is not an interface name is refused") {
  const std::string name = GENERATE(as<std::string>(), "..", ".", "a/b", "a:b", "a b", "a\nb",
                                    "a\x0b"
                                    "b",
                                    std::string("a\0b", 3), "../../x", "1234567890123456",
                                    std::string(100'000, 'a'), "net%d", "all", "default");
  CAPTURE(name);
  const std::string text = refusal_of("CNI_IFNAME", name);
  CHECK(text.find("CNI_IFNAME") != std::string::npos);
  CHECK(text.size() < 300);
}

TEST_CASE("DEL succeeds for names that libcni accepts and ADD does not: nothing can have been attached") {
  const auto [name, value] =
      GENERATE(table<std::string, std::string>({{"CNI_IFNAME", "all"},
                                                {"CNI_IFNAME", "default"},
                                                {"CNI_IFNAME", "net%d"},
                                                {"CNI_IFNAME", "net\xff"},
                                                {"CNI_IFNAME", "net%\xff"},
                                                {"CNI_CONTAINERID", std::string(201, 'a')}}));
  CAPTURE(name, value);
  CHECK_FALSE(refusal_of(name, value).empty());
  Environment environment = attachment("DEL");
  CHECK(read_request(environment, std::string("{}"))->never_attached.empty());
  environment[name] = value;
  const auto request = read_request(environment, std::string("{}"));
  REQUIRE(request);
  CHECK(request->never_attached.find(name) != std::string::npos);
  environment = attachment("DEL");
  environment["CNI_IFNAME"] = "a/b";
  CHECK_FALSE(read_request(environment, std::string("{}")));
}

TEST_CASE("DEL goes without what ADD is refused for beside the names") {
  const auto [name, value] =
      GENERATE(table<std::string, std::string>({{"CNI_NETNS", "run/netns/x"},
                                                {"CNI_NETNS", "/run/\xff"},
                                                {"CNI_NETNS", "/" + std::string(4095, 'a')},
                                                {"CNI_ARGS", "A=\xff\xfe"}}));
  CHECK_FALSE(refusal_of(name, value).empty());
  Environment environment = attachment("DEL");
  environment[name] = value;
  const auto request = read_request(environment, std::string("{}"));
  REQUIRE(request);
  CHECK((name == "CNI_NETNS" ? request->netns : request->raw_args).empty());
}

TEST_CASE("DEL goes without the folders of CNI_PATH that are not UTF-8 text") {
  Environment environment = attachment("DEL");
  environment["CNI_PATH"] = "/opt/cni/bin:/opt/\xc3:/usr/libexec/cni";
  const auto request = read_request(environment, std::string("{}"));
  REQUIRE(request);
  CHECK(request->path == std::vector<std::string>{"/opt/cni/bin", "/usr/libexec/cni"});
  CHECK(request->raw_path == "/opt/cni/bin:/usr/libexec/cni");
  environment["CNI_NETNS_OVERRIDE"] = "\xff";
  CHECK(read_request(environment, std::string("{}")));
}

TEST_CASE("A network namespace is an absolute path no longer than PATH_MAX") {
  CHECK_FALSE(refusal_of("CNI_NETNS", "run/netns/x").empty());
  CHECK_FALSE(refusal_of("CNI_NETNS", "/" + std::string(4095, 'a')).empty());
  CHECK(refusal_of("CNI_NETNS", "/" + std::string(4094, 'a')).empty());
}

TEST_CASE("CNI_ARGS are pairs, each with one equals sign") {
  CHECK(refusal_of("CNI_ARGS", "").empty());
  CHECK(refusal_of("CNI_ARGS", "A=1;;B=2;").empty());
  for (const char* text : {"junk", "=1", "A=1=2", "A=1;B"}) {
    CAPTURE(text);
    CHECK(refusal_of("CNI_ARGS", text).find("CNI_ARGS") != std::string::npos);
  }
}

TEST_CASE("The message about CNI_ARGS stays short") {
  CHECK(refusal_of("CNI_ARGS", std::string(100'000, 'x')).size() < 300);
}

TEST_CASE("A variable that cannot be stored in the record's JSON is refused") {
  const auto [name, value] = GENERATE(table<std::string, std::string>({{"CNI_NETNS", "/run/\xff"},
                                                                       {"CNI_IFNAME", "net\xff"},
                                                                       {"CNI_PATH", "/opt/\xc3"},
                                                                       {"CNI_ARGS", "A=\xff\xfe"}}));
  CHECK_THAT(refusal_of(name, value), Catch::Contains(name + " is not UTF-8 text"));
}

TEST_CASE("A variable of 128 KiB, the kernel's limit, is read") {
  CHECK(refusal_of("CNI_ARGS", "A=" + std::string(131'000, '\x01')).empty());
}

TEST_CASE("One message lists all that is wrong with the environment") {
  const std::string text = refusal({{"CNI_COMMAND", "ADD"}, {"CNI_IFNAME", "a b"}, {"CNI_ARGS", "x"}});
  CHECK(text.find("CNI_CONTAINERID") != std::string::npos);
  CHECK(text.find("CNI_IFNAME") != std::string::npos);
  CHECK(text.find("CNI_ARGS") != std::string::npos);
}

TEST_CASE("The override of the namespace check takes the same values as the Go library") {
  const auto [word, set] = GENERATE(
      table<std::string, bool>({{"1", true}, {"true", true}, {"TRUE", true}, {"yes", false}, {"", false}}));
  Environment environment = attachment("ADD");
  environment["CNI_NETNS_OVERRIDE"] = word;
  CHECK(read_request(environment, std::string("{}"))->netns_override == set);
}

TEST_CASE("Only a verb that needs a configuration reads one") {
  for (const char* command : {"ADD", "DEL", "CHECK", "GC", "STATUS"})
    CHECK(has_configuration({{"CNI_COMMAND", command}}));
  for (const char* command : {"VERSION", "", "add", "MOVE"})
    CHECK_FALSE(has_configuration({{"CNI_COMMAND", command}}));
  CHECK_FALSE(has_configuration({}));
}

}  // namespace vfrail
