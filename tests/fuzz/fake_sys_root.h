// A node's files in memory, for the target that reads sysfs: SysRoot's functions without system calls. The
// program links this in place of common/node/sys_root.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::fuzz {

// What a line says: the line must stay.
struct FakeFile {
  enum class Kind : uint8_t { text, link, folder, failure };
  Kind kind = Kind::text;
  int error = 0;                  // of a failure
  std::string_view written = {};  // of a text or a link, as it stands in the line

  std::string text() const;  // with line ends in place of \n
};

// A path with its hash, which is the same in each table of files.
struct FakePath {
  explicit FakePath(std::string_view path) : text(path), hash(std::hash<std::string_view>()(path)) {}
  bool operator==(const FakePath& other) const { return hash == other.hash && text == other.text; }

  std::string_view text;
  size_t hash;
};

// By the path that the product reads ("sys/bus/pci/devices/0000:03:00.0/uevent"): links are not followed, so
// a file stands under each name that it is asked for. Each input needs a table, and making one of copies
// took a third of the time: so paths and texts are views of the lines, and clear() keeps the memory.
class FakeFiles {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Place {
    FakePath path;
    std::optional<FakeFile> file = {};  // none: the folder of others
    uint32_t next = kNone;              // of the paths whose hashes are alike
    uint32_t first = kNone;             // of what is in this folder
    uint32_t sibling = kNone;           // the next one in the folder that this is in, by name
    size_t names = 0;                   // so many are in this folder

    std::string_view name() const { return path.text.substr(path.text.rfind('/') + 1); }
  };

  FakeFiles() { firsts_.fill(kNone); }
  void clear();
  // In place of what stood there.
  void set(std::string_view path, const FakeFile& file);
  const Place* find(const FakePath& path) const;  // null: there is nothing of this name
  const Place* at(uint32_t number) const { return number == kNone ? nullptr : &places_[number]; }

 private:
  uint32_t number_of(const FakePath& path) const;
  uint32_t make(std::string_view path);
  void add_name(Place& folder, uint32_t number);

  std::vector<Place> places_;
  std::array<uint32_t, 256> firsts_;  // by the last bits of the hash
};

// A line each, as in tests/data: "path = text" (\n in it is a line end), "path -> target" and "path/". And
// "path ! 5", which cannot be read for that errno. Other lines are nothing.
std::optional<std::pair<std::string_view, FakeFile>> parse_fake_file(std::string_view line);

// What the node has from now on: what is in `changed`, else what is in `always`. Both must stay.
void set_fake_node(const FakeFiles* always, const FakeFiles* changed);
inline constexpr std::string_view kFakeRoot = "/node";

}  // namespace vfrail::fuzz
