// A node's files in memory, for the target that reads sysfs: SysRoot's functions without system calls. The
// program links this in place of common/node/sys_root.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vfrail::fuzz {

struct FakeFile {
  enum class Kind : uint8_t { text, link, folder, failure };
  Kind kind = Kind::text;
  std::string content;  // of a text or a link
  int error = 0;        // of a failure
};

// By the path that the product reads ("sys/bus/pci/devices/0000:03:00.0/uevent"): links are not followed, so
// a file stands under each name that it is asked for.
class FakeFiles {
 public:
  // In place of what stood there.
  void set(const std::string& path, FakeFile file);
  const FakeFile* find(std::string_view path) const;  // null: there is none of this name
  // The names in a folder, sorted.
  const std::vector<std::string>& list(std::string_view folder) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Place {
    std::optional<FakeFile> file;  // none: the folder of others
    std::vector<std::string> names;
  };
  Place& place(const std::string& path);
  std::unordered_map<std::string, Place, Hash, std::equal_to<>> places_;
};

// A line each, as in tests/data: "path = text" (\n in it is a line end), "path -> target" and "path/". And
// "path ! 5", which cannot be read for that errno. Other lines are nothing.
std::optional<std::pair<std::string, FakeFile>> parse_fake_file(std::string_view line);

// What the node has from now on: what is in `changed`, else what is in `always`. Both must stay.
void set_fake_node(const FakeFiles* always, const FakeFiles* changed);
inline constexpr const char* kFakeRoot = "/node";

}  // namespace vfrail::fuzz
