// FeatureFile: the pools as labels of the node, by the file "vfrail" in the folder of Node Feature
// Discovery's feature files. Renews it before its labels expire, and removes it at the end. A folder that
// cannot be written is a warning and is tried again; it never keeps anything else from being served.
#pragma once

#include "common/log.h"
#include "common/node/sys_root.h"
#include "plugin/publish/node_labels.h"
#include "plugin/publish/publisher.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class FeatureFile final : public Publisher {
 public:
  // Labels of a plugin that has ended without removing them are removed from the node so late.
  static constexpr std::chrono::minutes kLifetime{10};
  // Twice within that time, so that one failure, or a busy node, does not cost the node its labels.
  static constexpr std::chrono::minutes kRenew{4};
  static constexpr std::chrono::seconds kRetry{30};

  struct Options {
    std::string folder;
    SysRoot sys;
    std::function<std::chrono::system_clock::time_point()> clock = std::chrono::system_clock::now;
  };

  FeatureFile(Options options, Log& log) : options_(std::move(options)), log_(log) {}

  Result<> start(std::function<void()>) override { return {}; }
  bool follow(const std::vector<PublishedPool>& pools, Time now) override;
  Time run_due(Time now) override;
  // It knows of no containers.
  bool ask_in_use(Time) override { return false; }
  std::optional<Answer> take_answer() override { return std::nullopt; }
  std::vector<ResourceStatus> status() const override { return {}; }
  void close(std::chrono::milliseconds) override;

 private:
  void read_ports(const std::vector<PublishedPool>& pools);
  Result<> write(const std::string& text);
  Result<> remove() const;
  void note_left_out(size_t without_room);
  void note_failure(const Result<>& written);

  const Options options_;
  Log& log_;
  // What a port was last known to be stays while it has no link or is in a pod: labels are about hardware.
  LabelledPorts ports_;
  std::optional<NodeLabels> labels_;  // no value: nothing is published yet
  Time due_at_ = Time::max();
  std::string written_;   // identity of the file that was written; empty: none
  std::string failure_;   // the last one that was logged; empty: it is written
  std::string left_out_;  // what was logged of it
};

}  // namespace vfrail::plugin
