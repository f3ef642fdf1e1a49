#include "plugin/dra/offer_state.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr size_t kMaxText = size_t{64} << 10;
constexpr int64_t kOfferSchema = 1;

// In the folder of the claims' records, which the DaemonSet mounts. Its name has no ".json", as theirs have.
std::string folder_of(const std::string& run_dir) { return run_dir + "/claims"; }
std::string path_of(const std::string& run_dir) { return folder_of(run_dir) + "/offer"; }

Result<OfferState> parse_offer(const std::string& text) {
  const Json json = TRY(Json::parse_object(text, kMaxText));
  ObjectReader reader(*json.as_object(), "");
  TRY(reader.schema(kOfferSchema));
  OfferState out;
  out.driver = TRY(reader.text("driver")).value_or("");
  out.instance = TRY(reader.text("instance")).value_or("");
  out.socket = TRY(reader.text("socket")).value_or("");
  out.resources = TRY(reader.texts("resources")).value_or(std::vector<std::string>());
  out.node = TRY(reader.text("node")).value_or("");
  out.published = TRY(reader.boolean("published")).value_or(false);
  out.reason = TRY(reader.text("reason")).value_or("");
  out.id = TRY(reader.text("id")).value_or("");
  return out;
}

}  // namespace

bool OfferState::has(const std::string& resource) const {
  return std::find(resources.begin(), resources.end(), resource) != resources.end();
}

std::string OfferState::text() const {
  if (published) return "published by " + driver;
  return "not published by " + driver + (reason.empty() ? "" : ": " + reason) +
         (id.empty() ? "" : " [" + id + "]");
}

Result<> write_offer_state(const std::string& run_dir, const OfferState& state) {
  TRY(make_folder(folder_of(run_dir), 0700));
  const Json json = Json::object()
                        .set("schema", kOfferSchema)
                        .set("driver", state.driver)
                        .set("instance", state.instance)
                        .set("socket", state.socket)
                        .set("resources", Json(state.resources))
                        .set("node", state.node)
                        .set("published", state.published)
                        .set("reason", state.reason)
                        .set("id", state.id);
  return write_file(path_of(run_dir), json.text() + "\n", 0600, Durability::renamed);
}

Result<std::optional<OfferState>> read_offer_state(const std::string& run_dir) {
  const std::string path = path_of(run_dir);
  const auto text = TRY(read_file(path, kMaxText), path);
  if (!text) return std::optional<OfferState>();
  auto state = parse_offer(*text);
  if (!state)
    return Error{Errc::protocol, 0, "the file " + path + " cannot be read: " + state.error().text,
                 ErrorId::record_damaged};
  return std::optional(*std::move(state));
}

Result<> remove_offer_state(const std::string& run_dir, const std::optional<std::string>& instance) {
  if (!instance) return remove_file(path_of(run_dir));
  const auto now = TRY(read_offer_state(run_dir));
  return now && now->instance == *instance ? remove_file(path_of(run_dir)) : Result<>();
}

}  // namespace vfrail::plugin
