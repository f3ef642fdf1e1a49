// OfferFile: the state of the offer (OfferState) in its file, written when it changes, until serve ends. Logs
// why it cannot be written, once.
#pragma once

#include "common/log.h"
#include "plugin/dra/offer_state.h"

#include <optional>
#include <string>
#include <utility>

namespace vfrail::plugin {

class OfferFile {
 public:
  // `log` outlives it.
  OfferFile(std::string run_dir, Log& log) : run_dir_(std::move(run_dir)), log_(log) {}

  void put(OfferState now);
  // That of this instance: another has its own by now, or none is right.
  void remove(const std::string& instance);

 private:
  const std::string run_dir_;
  Log& log_;
  std::optional<OfferState> written_;  // as in the file, or tried: the next change is the next try
  std::string trouble_;                // why not, as it was logged
};

}  // namespace vfrail::plugin
