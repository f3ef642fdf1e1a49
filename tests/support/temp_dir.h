// TempDir: a folder of a test, gone with the object. write_tree() fills it from a manifest.
#pragma once

#include <string>
#include <string_view>

namespace vfrail::test {

class TempDir {
 public:
  // `memory`: on a tmpfs if there is one with room, because the unit tests take eight times as long on a
  // disk. `disk`: for network namespaces, which vfrail refuses below /dev.
  enum class On : unsigned char { disk, memory };
  explicit TempDir(On on = On::memory);
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  std::string path(std::string_view below) const { return path_ + "/" + std::string(below); }

 private:
  std::string path_;
};

// One entry a line below `folder`: "path = text" a file, "path -> target" a symbolic link (relative, as the
// kernel makes them), "path/" a folder. Blank lines and lines with '#' in front are skipped. Parents are
// made.
void write_tree(const std::string& folder, std::string_view manifest);

// The files uevent that the kernel has beside class, vendor and device of each PCI function, made from these.
void write_uevents(const std::string& root);

}  // namespace vfrail::test
