// CdiSpec: what the Container Device Interface lets a container runtime add to a container for one device,
// and its file. The device plugin writes the file at Allocate; the CNI corrects the RDMA nodes in it after a
// move, which renumbers them, and leaves the rest unchanged. A file for each device, so that concurrent
// updates cannot overwrite each other.
#pragma once

#include "common/container/container_edits.h"
#include "common/container/held_folder.h"
#include "common/json.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// The folder that runtimes read (beside /etc/cdi, which is for what outlives a boot).
inline constexpr const char* kCdiFolder = "/var/run/cdi";
// The prefix of the names of our files; all else in the folder belongs to others.
inline constexpr std::string_view kCdiFilePrefix = "vfrail-";
// A longer spec is neither read nor written.
inline constexpr size_t kMaxCdiSpecBytes = size_t{64} * 1024;

struct CdiSpec {
  std::string kind;      // "nvidia.com/net-pci"
  std::string device;    // "0000:03:02.1"
  ContainerEdits edits;  // at least one: CDI takes a device without edits for an error
  // What the spec was read from. Formatting replaces what the fields above have differently, and keeps the
  // rest, known to us or not. Null: a new spec.
  Json document = {};

  std::string qualified_name() const { return kind + "=" + device; }
  // Follows from the qualified name alone: two files that define one device would be a conflict to CDI,
  // which then has neither.
  std::string file_name() const;  // "vfrail-nvidia.com-net-pci-0000:03:02.1.json"
  // Whether both have the same known content.
  bool operator==(const CdiSpec& other) const {
    return kind == other.kind && device == other.device && edits == other.edits;
  }
};

// Indented for people, unless the indentation would make it longer than what is read.
std::string format_cdi_spec(const CdiSpec& spec);
// Of our own files only, which have one device; keys are case-sensitive. The error names the key.
Result<CdiSpec> parse_cdi_spec(std::string_view text);

// Whether it has nodes of RDMA devices that have numbers (uverbs, umad, issm).
bool has_rdma_nodes(const CdiSpec& spec);
// Replaces the RDMA nodes by these, names below /dev/infiniband. False if they are the same.
bool replace_rdma_nodes(CdiSpec& spec, const std::vector<std::string>& names);

// Atomically, by renaming `temporary`, which must be in the same folder: the rename is the event on which the
// runtime reads the folder again. (CDI's library watches it; its older versions ignore a file that is moved
// in from elsewhere.) Its access time is before its modification time until somebody reads it. An error, and
// the file is as it was, if the spec is too long to be read again.
Result<> write_cdi_spec(const std::string& path, const std::string& temporary, const CdiSpec& spec);
// The file, if its name is one of ours in one of `folders`; Errc::denied if not, because `path` comes from a
// process with fewer rights. No value if the folder does not exist.
Result<std::optional<HeldFile>> find_cdi_spec(const std::string& path,
                                              const std::vector<std::string>& folders);
// No value if there is no such file. Keeps the access time, by which `vfrail serve` knows whether the runtime
// has read the spec.
Result<std::optional<CdiSpec>> read_cdi_spec(const std::string& path);

}  // namespace vfrail
