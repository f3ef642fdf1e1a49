// Where tests find the sources and the programs. One source file knows: the others compile to the same in
// every clone, so a compiler cache serves them all.
#pragma once

#include <string>

namespace vfrail::test {

// `below`: relative to the top of the sources; empty is the top itself.
std::string source_path(const std::string& below = "");
std::string source_text(const std::string& below);  // throws if it cannot be read

// A program that this build has made; without a name the folder of all.
std::string program_path(const std::string& name = "");

}  // namespace vfrail::test
