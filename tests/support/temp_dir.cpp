#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/statvfs.h>

namespace vfrail::test {

namespace fs = std::filesystem;

namespace {

// Tests run programs from there, and a container's own can be as small as 64 MiB.
bool is_of_use(const char* tmpfs) {
  constexpr uint64_t kEnough = 256 << 20;
  struct statvfs found = {};
  return ::statvfs(tmpfs, &found) == 0 && (found.f_flag & ST_NOEXEC) == 0 &&
         uint64_t{found.f_bavail} * found.f_frsize >= kEnough;
}

}  // namespace

TempDir::TempDir(On on) {
  constexpr const char* kTmpfs = "/dev/shm";
  const bool in_memory = on == On::memory && is_of_use(kTmpfs);
  path_ = ((in_memory ? fs::path(kTmpfs) : fs::temp_directory_path()) / "vfrail-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot create " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_tree(const std::string& folder, std::string_view manifest) {
  std::istringstream lines{std::string(manifest)};
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty() || line[0] == '#') continue;
    const fs::path root(folder);
    if (const size_t link = line.find(" -> "); link != std::string::npos) {
      const fs::path at = root / line.substr(0, link);
      fs::create_directories(at.parent_path());
      fs::remove(at);
      fs::create_symlink(line.substr(link + 4), at);
    } else if (const size_t file = line.find(" = "); file != std::string::npos) {
      const fs::path at = root / line.substr(0, file);
      fs::create_directories(at.parent_path());
      std::ofstream(at) << line.substr(file + 3) << '\n';
    } else if (line.back() == '/') {
      fs::create_directories(root / line);
    } else {
      throw std::runtime_error("tree manifest: cannot read line: " + line);
    }
  }
}

namespace {

// "0x15b3" -> "15B3"; "0000" if the file is not there.
std::string id_of(const fs::path& file, size_t digits = 4) {
  std::string text;
  std::ifstream(file) >> text;
  text = text.starts_with("0x") ? text.substr(2) : std::string(digits, '0');
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

void write_uevents(const std::string& root) {
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(root + "/sys/bus/pci/devices", missing)) {
    const fs::path folder = entry.path();
    if (!fs::exists(folder / "class")) continue;
    std::string code = id_of(folder / "class", 6);
    code.erase(0, std::min(code.find_first_not_of('0'), code.size() - 1));
    std::ofstream(folder / "uevent") << "PCI_CLASS=" << code << "\nPCI_ID=" << id_of(folder / "vendor") << ':'
                                     << id_of(folder / "device")
                                     << "\nPCI_SUBSYS_ID=" << id_of(folder / "subsystem_vendor") << ':'
                                     << id_of(folder / "subsystem_device") << '\n';
  }
}

}  // namespace vfrail::test
