// OfferLink: keeps the API agent informed of the devices that this node offers, from a thread of its own, at
// each change and every 10 s: an agent that has started anew knows nothing. Decides nothing about devices.
#pragma once

#include "common/log.h"
#include "plugin/dra/agent_client.h"
#include "plugin/dra/offer.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace vfrail::plugin {

class OfferLink {
 public:
  struct Options {
    std::string socket;
    std::string driver = kDraDriver;
    std::chrono::milliseconds repeat{10'000};
    // The same while the agent does not answer, as when both have just been started.
    std::chrono::milliseconds retry{1'000};
  };
  // What the agent has answered last.
  struct State {
    std::string node;                     // the name of the node's pool; empty: no answer yet
    bool published = false;               // the API server has these devices
    std::string reason = {};              // why not
    std::string id = {};                  // of that reason: "VF-BUSY"
    std::optional<int64_t> devices = {};  // in its slices of this node; empty: not known
    int64_t slices = 0;                   // of this node
    int64_t writes = 0;                   // of slices, since vfrail-kube has started
    bool sharing = false;  // and keeps allowMultipleAllocations; false also while that is not known
    bool operator==(const State&) const = default;
  };

  // `log` outlives it.
  OfferLink(Options options, Log& log);
  OfferLink(const OfferLink&) = delete;
  OfferLink& operator=(const OfferLink&) = delete;
  ~OfferLink();

  // `on_change` is called on the link's thread after each change of state().
  void start(std::function<void()> on_change = {});
  // Replaces the offer. `resources`: the extended resources that go by claims here.
  void put(const std::vector<std::string>& resources, const std::vector<OfferedDevice>& devices);
  State state() const;

 private:
  void run(const std::stop_token& stop);
  State send(const std::string& body);
  void note(State now);

  const Options options_;
  Log& log_;
  AgentClient agent_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string body_;  // empty: nothing to offer yet
  bool is_new_ = false;
  bool answers_ = true;  // the agent, when it was asked last; the thread's
  State state_;
  State logged_;  // the thread's
  const std::chrono::steady_clock::time_point patient_until_;
  std::function<void()> on_change_;
  std::jthread thread_;
};

}  // namespace vfrail::plugin
