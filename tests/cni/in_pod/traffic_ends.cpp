#include "tests/cni/in_pod/traffic_ends.h"

#include <utility>

namespace vfrail::test {
using namespace pod;

class FakeDevices::End : public TrafficEnd {
 public:
  End(FakeDevices& devices, std::string rail, EndSize size)
      : devices_(devices), rail_(std::move(rail)), size_(size), number_(++devices.opened) {
    ++devices_.open_now;
  }
  ~End() override { --devices_.open_now; }

  EndAddress address() const override { return {number_, 0, 4096, {0xfe, 0x80}, 7, 4096}; }
  std::optional<TrafficFailure> connect(const EndAddress& peer) override {
    if (peer.queue_pair == 0) return TrafficFailure{TrafficStage::rtr, 22};
    return fail_at(TrafficStage::rtr);
  }
  std::optional<TrafficFailure> post(uint32_t bytes) override {
    // More than its memory has would be the memory of others.
    if (bytes == 0 || bytes > size_.message_bytes) return TrafficFailure{TrafficStage::write, 22};
    if (const auto failure = fail_at(TrafficStage::write)) return failure;
    // A queue that is full is refused, as the kernel does it.
    if (under_way_ == size_.depth) return TrafficFailure{TrafficStage::write, 12};
    ++under_way_;
    return {};
  }
  std::variant<uint32_t, TrafficFailure> poll() override {
    devices_.time_.tick();
    if (const auto failure = fail_at(TrafficStage::complete)) return *failure;
    if (devices_.silent == rail_) return 0U;
    return std::exchange(under_way_, 0);
  }

 private:
  std::optional<TrafficFailure> fail_at(TrafficStage stage) const {
    const auto at = devices_.failures.find(rail_);
    return at != devices_.failures.end() && at->second.stage == stage ? std::optional(at->second)
                                                                      : std::nullopt;
  }

  FakeDevices& devices_;
  const std::string rail_;
  const EndSize size_;
  const uint32_t number_;
  uint32_t under_way_ = 0;
};

OpenedEnd FakeDevices::open(const TrafficRail& rail, EndSize size) {
  const auto at = failures.find(rail.name);
  if (at != failures.end() && at->second.stage <= TrafficStage::init) return at->second;
  return OpenedEnd(std::make_unique<End>(*this, rail.name, size));
}

}  // namespace vfrail::test
