#include "tests/support/places.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace vfrail::test {

std::string source_path(const std::string& below) {
  return below.empty() ? VFRAIL_SOURCE_DIR : VFRAIL_SOURCE_DIR "/" + below;
}

std::string source_text(const std::string& below) {
  std::ifstream file(source_path(below));
  if (!file) throw std::runtime_error("cannot read " + source_path(below));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string program_path(const std::string& name) {
  return name.empty() ? VFRAIL_PROGRAM_DIR : VFRAIL_PROGRAM_DIR "/" + name;
}

}  // namespace vfrail::test
