#include "common/node/unclean.h"

#include "common/files.h"
#include "common/json.h"

#include <filesystem>

namespace vfrail {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kUncleanSchema = 1;
constexpr size_t kMaxUncleanBytes = 1 << 20;
constexpr std::string_view kEnding = ".json";
constexpr char kPortSeparator = '@';  // "KEY@PORT.json" for the second and later ports of a function

}  // namespace

std::string unclean_folder(const std::string& state_folder) { return state_folder + "/unclean"; }

std::string format_unclean(const UncleanFile& file) {
  Json out;
  out.set("schema", kUncleanSchema).set("bootId", file.boot_id).set("reasons", Json(file.reasons));
  return out.pretty() + "\n";
}

Result<UncleanFile> parse_unclean(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxUncleanBytes));
  ObjectReader reader(*json.as_object(), "");
  TRY(reader.schema(kUncleanSchema));
  UncleanFile out;
  out.boot_id = TRY(reader.text("bootId")).value_or("");
  out.reasons = TRY(reader.texts("reasons")).value_or(std::vector<std::string>());
  return out;
}

Result<UncleanDevices> read_unclean(const std::string& state_folder, std::string_view boot_id) {
  UncleanDevices out;
  const std::string folder = unclean_folder(state_folder);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kEnding)) continue;  // a file that is being written
    const std::string key = name.substr(0, std::min(name.find(kPortSeparator), name.size() - kEnding.size()));
    const auto text = read_file(at->path().string(), kMaxUncleanBytes);
    if (!text && text.error().code != Errc::protocol) return text.error();
    if (text && !*text) continue;
    const auto file = text ? parse_unclean(**text) : Result<UncleanFile>(text.error());
    if (!file) {  // it says nothing about other devices
      out[key].push_back("its state cannot be read: " + at->path().string() + ": " + file.error().text);
      continue;
    }
    if (!boot_id.empty() && file->boot_id != boot_id) continue;
    auto& reasons = out[key];
    reasons.insert(reasons.end(), file->reasons.begin(), file->reasons.end());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), "list " + folder);
  return out;
}

}  // namespace vfrail
