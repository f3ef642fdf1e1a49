// THIRD_PARTY_NOTICES.md has every project whose code is in the shipped programs: what the linker is given,
// by the build that it would really make, and what is included as headers.
#include "tests/documents/page.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

constexpr const char* kNotices = "THIRD_PARTY_NOTICES.md";

// The archives of other projects that a program is linked with, from the statement of the Ninja file that
// links it.
std::set<std::string> archives_of(const std::string& ninja, const std::string& program) {
  static const std::regex archive(R"( (/[^ ]+\.a)(?= |\n))");
  const size_t build = ninja.find("build bin/" + program + ": ");
  REQUIRE(build != std::string::npos);
  const std::string statement = ninja.substr(build, ninja.find("\n\n", build) - build);
  std::set<std::string> out;
  for (auto at = std::sregex_iterator(statement.begin(), statement.end(), archive);
       at != std::sregex_iterator(); ++at)
    out.insert((*at)[1]);
  return out;
}

std::string trimmed_output(const std::string& command) {
  const ShellOutcome outcome = run_in_shell(command);
  INFO(command << "\n" << outcome.output);
  REQUIRE(outcome.status == 0);
  return outcome.output.substr(0, outcome.output.find_last_not_of('\n') + 1);
}

// The Debian source package of each file, by one question, since dpkg reads its whole database each time. It
// knows files of /lib by that name, the linker by /usr/lib.
std::map<std::string, std::string> sources_of(const std::set<std::string>& files) {
  std::string names;
  for (const std::string& file : files) names += " " + file + " " + file.substr(std::string("/usr").size());
  std::istringstream found(run_in_shell("dpkg -S" + names + " 2> /dev/null").output);
  std::map<std::string, std::string> packages;
  for (std::string line; std::getline(found, line);) {
    const size_t colon = line.rfind(": ");
    const std::string path = line.substr(colon + 2);
    packages[path.starts_with("/usr/") ? path : "/usr" + path] = line.substr(0, colon);
  }
  std::map<std::string, std::string> out;
  std::map<std::string, std::string> known;
  for (const std::string& file : files) {
    INFO(file << " is of no package");
    REQUIRE(packages.contains(file));
    std::string& source = known[packages.at(file)];
    if (source.empty()) source = trimmed_output("dpkg-query -W -f '${source:Package}' " + packages.at(file));
    out[file] = source;
  }
  return out;
}

// The row of the table for a source package; empty if there is none.
std::string row_of(const std::string& source) {
  for (const std::string& line : page(kNotices).lines) {
    if (line.starts_with("| ") && line.find("| `" + source + "` |") != std::string::npos) return line;
  }
  return "";
}

// The build file of the static build, which is not built. Its folder stays, because a first configuration
// takes half a minute of a CPU; CMake sees what has changed since.
std::string static_build() {
  const std::string folder = test::program_path("../static-link");
  trimmed_output("cmake -G Ninja -S " + test::source_path() + " -B " + folder +
                 " -DVFRAIL_STATIC_LIBRARIES=ON -DBUILD_TESTING=OFF");
  std::ifstream file(folder + "/build.ninja");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every static library of the shipped programs has its notice") {
  const std::string ninja = static_build();
  std::set<std::string> sources;
  size_t column = 4;  // the last cells are the programs
  for (const char* program : {"vfrail", "vfrail-cni", "vfrail-check", "vfrail-kube"}) {
    const auto archives = archives_of(ninja, program);
    CHECK(!archives.empty());
    for (const auto& [archive, source] : sources_of(archives)) {
      INFO(program << " is linked with " << archive << " of " << source);
      sources.insert(source);
      const std::string row = row_of(source);
      CHECK(!row.empty());
      std::vector<std::string> cells;
      std::istringstream line(row);
      for (std::string cell; std::getline(line, cell, '|');) cells.push_back(cell);
      REQUIRE(cells.size() >= 7);
      CHECK(cells[column] == " static ");
    }
    ++column;
  }
  CHECK(sources.size() > 6);
}

TEST_CASE("the libraries that the compiler links have their notice, and headers of other projects") {
  for (const char* library : {"libstdc++.a", "libgcc.a", "libc.a"}) {
    const std::string file = trimmed_output("realpath $(c++ -print-file-name=" + std::string(library) + ")");
    const std::string source = sources_of({file}).at(file);
    INFO(library << " of " << source);
    CHECK(!row_of(source).empty());
  }
  const std::map<std::string, std::string> by_folder = {
      {"CLI", "cli11"},     {"boost", "boost1.74"}, {"rapidjson", "rapidjson"}, {"grpcpp", "grpc"},
      {"grpc", "grpc"},     {"google", "protobuf"}, {"netlink", "libnl3"},      {"infiniband", "rdma-core"},
      {"spdlog", "spdlog"}, {"fmt", "fmtlib"},      {"yaml-cpp", "yaml-cpp"},   {"openssl", "openssl"}};
  std::istringstream included(trimmed_output(
      "cd " + test::source_path() + " && grep -rhoE '^#include <[A-Za-z-]+/' plugin cni common | sort -u"));
  size_t found = 0;
  for (std::string line; std::getline(included, line);) {
    const std::string folder = line.substr(10, line.size() - 11);
    if (folder == "sys" || folder == "linux" || folder == "net" || folder == "netinet" || folder == "arpa" ||
        folder == "rdma")
      continue;  // the C library's and the kernel's
    INFO(line << " is of a project that this test does not know");
    REQUIRE(by_folder.contains(folder));
    INFO(by_folder.at(folder));
    ++found;
    CHECK(!row_of(by_folder.at(folder)).empty());
  }
  CHECK(found > 4);
}

TEST_CASE("each project of the notices has its section, and licences that demand it their text") {
  const std::string text = page(kNotices).text();
  for (const char* section :
       {"gRPC", "Protocol Buffers", "Abseil", "c-ares", "OpenSSL", "RE2", "zlib", "rdma-core", "libnl",
        "yaml-cpp", "Boost", "CLI11", "RapidJSON", "GNU C library"}) {
    INFO(section);
    CHECK(text.find("\n### " + std::string(section) + "\n") != std::string::npos);
  }
  CHECK(text.find("GNU LESSER GENERAL PUBLIC LICENSE") != std::string::npos);
  CHECK(text.find("END OF TERMS AND CONDITIONS") != std::string::npos);
}

}  // namespace vfrail::test
