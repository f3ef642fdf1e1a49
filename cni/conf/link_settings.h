// LinkSettings: what a network configuration can set on the interface in the pod by one number or flag each.
// One table, which parses, plans, sends, checks and names them: a new key is a new row. Pure.
#pragma once

#include "common/json.h"
#include "common/kernel/kernel.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

struct LinkSetting {
  const char* key;       // "txQLen"
  const char* document;  // for cni/README.md
  bool flag;             // true or false in the configuration; 1 or 0 here
  uint32_t least = 0;    // of a number
  uint32_t most = 1;
  std::optional<uint32_t> (*of)(const Link&);  // no value: this kernel has no such setting
  void (*put)(uint32_t value, LinkChange&);
};

inline constexpr std::array kLinkSettings{
    LinkSetting{.key = "promisc",
                .document = "receives packets for other addresses",
                .flag = true,
                .of = [](const Link& link) { return std::optional<uint32_t>(link.promisc_set()); },
                .put = [](uint32_t value, LinkChange& change) { change.promisc = value != 0; }},
    LinkSetting{.key = "allmulti",
                .document = "receives all multicast packets",
                .flag = true,
                .of = [](const Link& link) { return std::optional<uint32_t>(link.allmulti_set()); },
                .put = [](uint32_t value, LinkChange& change) { change.allmulti = value != 0; }},
    // A queue of this length holds seconds of traffic, and some queueing disciplines reserve memory for all
    // of it (pfifo_fast_change_tx_queue_len()).
    LinkSetting{.key = "txQLen",
                .document = "length of the transmit queue, in packets",
                .flag = false,
                .most = 1'000'000,
                .of = [](const Link& link) { return std::optional<uint32_t>(link.tx_queue_len); },
                .put = [](uint32_t value, LinkChange& change) { change.tx_queue_len = value; }},
    // BIG TCP. 524,280 is GSO_MAX_SIZE and GRO_MAX_SIZE of the kernel; a driver can have a lower limit, and
    // the kernel takes no segment that is smaller than its headers.
    LinkSetting{.key = "gsoMaxSize",
                .document = "largest segment in bytes that the pod's stack passes to the device (BIG TCP)",
                .flag = false,
                .least = 512,
                .most = 524'280,
                .of = [](const Link& link) { return link.options.gso_max_size; },
                .put = [](uint32_t value, LinkChange& change) { change.options.gso_max_size = value; }},
    LinkSetting{.key = "groMaxSize",
                .document = "largest segment in bytes that the pod's stack takes from the device (BIG TCP)",
                .flag = false,
                .least = 512,
                .most = 524'280,
                .of = [](const Link& link) { return link.options.gro_max_size; },
                .put = [](uint32_t value, LinkChange& change) { change.options.gro_max_size = value; }},
};

// The table of cni/README.md: a line for each setting, in Markdown.
std::string link_settings_document();

class LinkSettings {
 public:
  // Errc::invalid names key and limits.
  static Result<LinkSettings> parse(ObjectReader& conf);

  bool empty() const { return *this == LinkSettings(); }
  // No value: left unchanged.
  std::optional<uint32_t> get(const std::string& key) const;
  void set(const std::string& key, uint32_t value);

  // Takes over every value that is set in `others`.
  void override_by(const LinkSettings& others);
  // Errc::unsupported: the kernel, which takes attributes that it does not know without a word, has not all
  // of these settings.
  Result<> check_kernel_has(const Link& now) const;
  // The settings that the link has otherwise.
  LinkSettings differing_from(const Link& now) const;
  void put_into(LinkChange& change) const;
  // "txQLen 5, expected 123", for each that the link has otherwise.
  std::vector<std::string> differences(const Link& now) const;

  bool operator==(const LinkSettings&) const = default;

 private:
  std::array<std::optional<uint32_t>, kLinkSettings.size()> values_;
};

}  // namespace vfrail::cni
