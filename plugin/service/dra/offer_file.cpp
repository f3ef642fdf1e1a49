#include "plugin/service/dra/offer_file.h"

namespace vfrail::plugin {

void OfferFile::put(OfferState now) {
  if (written_ == now) return;
  const auto done = write_offer_state(run_dir_, now);
  written_ = std::move(now);
  const std::string trouble = done ? "" : done.error().text;
  if (trouble != std::exchange(trouble_, trouble) && !done)
    log_.warning("inspect and doctor cannot see what is published",
                 {{"reason", trouble}, {"id", done.error().id_text()}});
}

void OfferFile::remove(const std::string& instance) {
  const auto removed = remove_offer_state(run_dir_, instance);
  if (!removed) log_.debug("the state of the offer is not removed", {{"reason", removed.error().text}});
}

}  // namespace vfrail::plugin
