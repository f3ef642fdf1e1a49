#include "plugin/admin/capture/claim_copy.h"

#include "common/container/cdi_outline.h"
#include "common/container/cdi_spec.h"
#include "common/container/claim_record.h"
#include "common/files.h"
#include "common/text.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/offer_state.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace vfrail::plugin {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRun = "run/vfrail";
constexpr const char* kKubelet = "var/lib/kubelet";
constexpr const char* kNodeName = "node";

// Everybody may read the copy, whoever has made it.
Result<> open_up(const std::string& folder) {
  std::error_code failed;
  const auto set = [&](const fs::path& path, bool is_folder) {
    fs::permissions(path, static_cast<fs::perms>(is_folder ? 0755 : 0644), failed);
  };
  if (!fs::exists(folder, failed)) return {};
  set(folder, true);
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    set(at->path(), at->is_directory(failed));
  if (failed) return Error::from_errno(failed.value(), "set the mode of " + folder);
  return {};
}

class ClaimCopy {
 public:
  ClaimCopy(const SysRoot& sys, std::string folder, Anonymous& anonymous)
      : sys_(sys), folder_(std::move(folder)), anonymous_(anonymous) {}

  Result<> all() {
    const auto uids = list_claims(run());
    if (!uids) return {};
    for (const std::string& uid : *uids) TRY(claim(uid));
    TRY(offer());
    const auto ways = sys_.text(std::string(kRun) + "/claims/shared-pools").or_none();
    if (ways) TRY(write("/run/vfrail/claims/shared-pools", *ways));
    return open_up(own_run());
  }

 private:
  std::string run() const { return sys_.path(kRun); }
  std::string own_run() const { return folder_ + "/" + kRun; }

  Result<> write(const std::string& path, const std::string& text) const {
    TRY(make_folder(fs::path(folder_ + path).parent_path(), 0755));
    return write_file(folder_ + path, text + "\n", 0644, Durability::renamed);
  }

  // One that is damaged is so in the copy, too.
  Result<> claim(const std::string& uid) {
    auto record = read_claim_record(run(), uid);
    if (!record) return write("/run/vfrail/claims/" + uid + ".json", "");
    if (!*record) return {};
    const std::string pods = std::string(kKubelet) + "/pods";
    if (sys_.exists(pods).value_or(false)) TRY(make_folder(folder_ + "/" + pods, 0755));
    const std::string pod = pods + "/" + (*record)->pod.uid;
    if (check_owner_name((*record)->pod.uid) && sys_.exists(pod).value_or(false))
      TRY(make_folder(folder_ + "/" + pod, 0755));
    (*record)->node_pool = kNodeName;
    TRY(write_claim(own_run(), **record));
    return prepared(uid);
  }

  Result<> prepared(const std::string& uid) {
    auto record = read_prepared(run(), uid);
    if (!record || !*record) return {};
    for (const std::string& path : (*record)->files.paths) TRY(spec(path));
    if ((*record)->edits) {
      for (ContainerEdits& edits : *(*record)->edits) edits = {};
    }
    return write_prepared(own_run(), **record);
  }

  // Ours alone, with the nodes that doctor compares.
  Result<> spec(const std::string& path) const {
    const std::string name = path.substr(path.rfind('/') + 1);
    // A record names it, and it is written below the copy's folder.
    if (!path.starts_with('/') || fs::path(path).lexically_normal() != path) return {};
    if (!name.starts_with(kCdiFilePrefix)) return {};
    const auto known = read_cdi_spec(sys_.path(path.substr(1)));
    if (!known || !*known) return {};
    CdiSpec out{.kind = (*known)->kind,
                .device = (*known)->device,
                .edits = {.nodes = (*known)->edits.nodes},
                .document = {}};
    for (const auto& [variable, value] : (*known)->edits.env) out.edits.env[variable] = "";
    for (const Hook& hook : (*known)->edits.hooks) out.edits.hooks.push_back({hook.name, hook.path});
    return write(path, format_cdi_spec(out));
  }

  // Of kubelet's sockets names alone.
  Result<> offer() {
    auto state = read_offer_state(run());
    if (!state) return write("/run/vfrail/claims/offer", "");
    if (!*state || !is_dns_subdomain((*state)->driver, kMaxDriverName)) return {};
    OfferState& offer = **state;
    const std::string kubelet = kKubelet;
    for (const std::string& below : {kubelet + "/plugins_registry", kubelet + "/plugins/" + offer.driver}) {
      const auto names = sys_.list(below);
      if (!names || !*names) continue;
      TRY(make_folder(folder_ + "/" + below, 0755));
      for (const std::string& name : **names) {
        if (name.ends_with(".sock")) TRY(write("/" + below + "/" + name, ""));
      }
    }
    offer.reason = anonymous_.message(offer.reason);
    for (size_t at = 0; !offer.node.empty() && (at = offer.reason.find(offer.node, at)) != std::string::npos;
         at += std::string_view(kNodeName).size())
      offer.reason.replace(at, offer.node.size(), kNodeName);
    if (!offer.node.empty()) offer.node = kNodeName;
    return write_offer_state(own_run(), offer);
  }

  const SysRoot& sys_;
  const std::string folder_;
  Anonymous& anonymous_;
};

}  // namespace

Result<> copy_claims(const SysRoot& sys, const std::string& folder, Anonymous& anonymous) {
  return ClaimCopy(sys, folder, anonymous).all();
}

}  // namespace vfrail::plugin
