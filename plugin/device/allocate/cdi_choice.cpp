#include "plugin/device/allocate/cdi_choice.h"

#include "common/container/cdi_runtime.h"
#include "common/container/cdi_spec.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <sys/stat.h>

namespace vfrail::plugin {

namespace {

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* one) { return word == one; });
}

// The usual one if the runtime has it, else the one that counts most.
std::string folder_of(const CdiRuntime& runtime) {
  if (runtime.folders.empty() || runtime.reads(kCdiFolder)) return kCdiFolder;
  return runtime.folders.back();
}

CdiChoice choose_automatically(const CdiRuntime& runtime, const std::string& folder,
                               const CdiFolderFault& fault) {
  if (runtime.support == CdiSupport::unknown)
    return {"", "whether the container runtime has CDI is not known: " + runtime.why};
  const std::string why = fault(folder, runtime.may_be_ignored);
  return why.empty() ? CdiChoice{folder, runtime.why} : CdiChoice{"", runtime.why + ", but " + why};
}

}  // namespace

std::optional<CdiUse> parse_cdi_use(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "auto") return CdiUse::automatic;
  if (is_one_of(word, {"true", "t", "1", "yes", "y", "on", "enable"})) return CdiUse::on;
  if (is_one_of(word, {"false", "f", "0", "no", "n", "off", "disable"})) return CdiUse::off;
  return std::nullopt;
}

CdiChoice choose_cdi(CdiUse use, const std::string& folder, const SysRoot& sys, const CdiFolderFault& fault) {
  if (use == CdiUse::off) return {"", "--use-cdi=false"};
  const auto found = find_cdi_runtime(sys);
  const CdiRuntime runtime =
      found ? *found : CdiRuntime{CdiSupport::unknown, "it cannot be found out: " + found.error().text};
  const bool on = use == CdiUse::on;
  if (runtime.support == CdiSupport::no) return {"", runtime.why, on};
  const std::string chosen = folder.empty() ? folder_of(runtime) : folder;
  if (runtime.support == CdiSupport::yes && !runtime.reads(chosen))
    return {"",
            "the container runtime reads specs in " + joined(runtime.folders, " and ") +
                " alone (cdi_spec_dirs), not in " + chosen,
            on};
  if (on) return {chosen, runtime.why};
  return choose_automatically(runtime, chosen, fault);
}

std::string not_of_host(const std::string& folder, const SysRoot& sys) {
  if (sys.path("") == "/") return "";
  struct stat own {};
  struct stat there {};
  const bool mounted =
      ::stat("/", &own) == 0 && ::stat(folder.c_str(), &there) == 0 && own.st_dev != there.st_dev;
  return mounted ? "" : folder + " of the host is not mounted here, at the same path";
}

}  // namespace vfrail::plugin
