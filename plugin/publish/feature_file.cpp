#include "plugin/publish/feature_file.h"

#include "common/container/held_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/node/device.h"
#include "common/text.h"
#include "plugin/device/prefer/distance.h"

#include <utility>

namespace vfrail::plugin {

namespace {

constexpr const char* kFile = "vfrail";
// Node Feature Discovery skips files with a dot in front.
constexpr const char* kTemporary = ".vfrail.tmp";
constexpr unsigned kForAll = 0644;  // whichever user nfd-worker runs as

LabelledPort read_port(const SysRoot& sys, const PciAddress& address, const LabelledPort& known) {
  LabelledPort out = known;
  auto device = read_device(sys, DeviceId(address), Facts::netdevs | Facts::rdma_ports);
  if (!device || !*device) return out;
  if (const Transport fabric = (*device)->transport(); fabric != Transport::unknown) out.fabric = fabric;
  // Representors, which a PF in switchdev mode has beside it, state a speed of their own.
  const auto uplink = choose_uplink(sys, (*device)->netdev_names());
  if (!uplink) return out;
  std::erase_if((*device)->netdevs, [&](const Netdev& netdev) { return netdev.name != *uplink; });
  if (const auto speed = read_port_speed(sys, **device)) out.speed_mbps = speed;
  return out;
}

Result<HeldFolder> hold(const std::string& path) {
  auto folder = TRY(HeldFolder::open(path));
  if (folder) return *std::move(folder);
  return Error{Errc::not_found, ENOENT, "folder " + path + " does not exist"};
}

}  // namespace

void FeatureFile::read_ports(const std::vector<PublishedPool>& pools) {
  LabelledPorts now;
  for (const PublishedPool& pool : pools) {
    for (const PoolDevice& device : pool->devices) {
      const PciAddress address = port_of(device.facts);
      if (!now.contains(address)) now.emplace(address, read_port(options_.sys, address, ports_[address]));
    }
  }
  ports_ = std::move(now);
}

bool FeatureFile::follow(const std::vector<PublishedPool>& pools, Time now) {
  read_ports(pools);
  NodeLabels labels = make_node_labels(pools, ports_);
  if (labels_ != labels) due_at_ = now;
  labels_ = std::move(labels);
  return false;  // kubelet's lists are others
}

Publisher::Time FeatureFile::run_due(Time now) {
  if (!labels_ || now < due_at_) return due_at_;
  const FeatureText wanted = make_feature_text(labels_->labels, options_.clock() + kLifetime);
  note_left_out(wanted.left_out);
  const auto written = write(wanted.text);
  note_failure(written);
  due_at_ = now + (written ? std::chrono::seconds(kRenew) : kRetry);
  return due_at_;
}

Result<> FeatureFile::write(const std::string& text) {
  const HeldFolder folder = TRY(hold(options_.folder));
  TRY(write_file({folder.at(kFile), folder.at(kTemporary)}, text, kForAll, Durability::renamed));
  written_ = identity_of_file(folder.at(kFile));
  return {};
}

void FeatureFile::note_failure(const Result<>& written) {
  const std::string before = std::exchange(failure_, written ? std::string() : written.error().text);
  if (failure_ == before) return;
  if (written) return log_.info("the node's labels are written again", {{"folder", options_.folder}});
  log_.warning("the node's labels cannot be written for Node Feature Discovery",
               {{"reason", failure_},
                {"folder", options_.folder},
                {"retry_seconds", std::to_string(kRetry.count())},
                {"id", id_text(ErrorId::node_labels)}});
}

void FeatureFile::note_left_out(size_t without_room) {
  std::string now;
  if (!labels_->too_long.empty()) {
    now = "a label's name has at most 63 characters behind the prefix, and these have more: " +
          first_few(labels_->too_long);
  }
  if (without_room > 0) {
    now += (now.empty() ? "" : "; ") + counted(without_room, "label") + " would make the file longer than " +
           std::to_string(kMaxFeatureFile) + " bytes";
  }
  if (now == left_out_) return;
  left_out_ = std::move(now);
  if (left_out_.empty()) return;
  log_.warning("labels of the node are left out",
               {{"reason", left_out_}, {"id", id_text(ErrorId::node_labels)}});
}

// Only the file of this process: another one can have been started already.
Result<> FeatureFile::remove() const {
  const HeldFolder folder = TRY(hold(options_.folder));
  TRY(remove_same_file(folder.at(kFile), written_));
  return {};
}

void FeatureFile::close(std::chrono::milliseconds) {
  due_at_ = Time::max();
  if (written_.empty()) return;
  if (const auto removed = remove(); !removed) {
    log_.warning("the node's labels stay until they expire", {{"reason", removed.error().text},
                                                              {"folder", options_.folder},
                                                              {"id", id_text(ErrorId::node_labels)}});
  }
  written_.clear();
}

}  // namespace vfrail::plugin
