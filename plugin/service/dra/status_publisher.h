// StatusPublisher: the status of claims follows what vfrail-cni has recorded and what is prepared: it watches
// both folders, and passes what holds now to StatusWriter. Publishes no device.
#pragma once

#include "common/log.h"
#include "plugin/dra/api_agent.h"
#include "plugin/dra/status_writer.h"
#include "plugin/observe/events/folder_events.h"
#include "plugin/publish/publisher.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class StatusPublisher final : public Publisher {
 public:
  struct Options {
    std::string driver;
    AllocatePlaces places;
    StatusWriter::Options writer = {};
    // An ADD writes several files, and a job's pods begin together.
    std::chrono::milliseconds settle{200};
    // Without an event: inotify(7) can drop some.
    std::chrono::milliseconds repeat{60'000};
  };

  // `api` and `log` outlive it.
  StatusPublisher(Options options, ApiAgent& api, Log& log);

  Result<> start(std::function<void()> wake) override;
  std::vector<int> fds() const override;
  void read() override;
  bool follow(const std::vector<PublishedPool>&, Time) override { return false; }
  Time run_due(Time now) override;
  bool ask_in_use(Time) override { return false; }
  std::optional<Answer> take_answer() override { return std::nullopt; }
  std::vector<ResourceStatus> status() const override { return {}; }
  // What was not written is written by the next instance.
  void close(std::chrono::milliseconds) override { writer_.stop(); }

 private:
  const Options options_;
  Log& log_;
  StatusWriter writer_;
  FolderEvents attachments_;
  FolderEvents claims_;
  Time due_{};
  std::string complaint_;
};

}  // namespace vfrail::plugin
