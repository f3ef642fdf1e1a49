#include "plugin/kube/client/watch_lines.h"

#include <utility>

namespace vfrail::kube {

namespace {

Error too_long() { return Error{Errc::protocol, 0, "an event of more than 16 MiB"}; }

Result<> read_event(std::string_view line, const WatchLines::Event& event) {
  Json value = TRY(Json::parse(line, WatchLines::kMaxEventBytes));
  std::string type;
  Json object;
  if (Json::Object* fields = value.as_object()) {
    for (auto& [key, field] : *fields) {
      if (key == "type" && field.as_text() != nullptr) type = *field.as_text();
      if (key == "object") object = std::move(field);
    }
  }
  if (type.empty() || object.as_object() == nullptr)
    return Error{Errc::protocol, 0, "an event without type or object"};
  return event(type, std::move(object));
}

}  // namespace

Result<> WatchLines::add(std::string_view piece, const Event& event) {
  for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    std::string whole = std::exchange(rest_, std::string());
    whole.append(piece.substr(0, end));
    piece.remove_prefix(end + 1);
    if (whole.size() > kMaxEventBytes) return too_long();
    if (whole.find_first_not_of(" \r\t") == std::string::npos) continue;
    TRY(read_event(whole, event));
  }
  rest_.append(piece);
  if (rest_.size() > kMaxEventBytes) return too_long();
  return {};
}

}  // namespace vfrail::kube
