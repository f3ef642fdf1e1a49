#include "plugin/kube/client/refusal.h"

#include "common/text.h"
#include "plugin/kube/access/fields.h"

namespace vfrail::kube {

namespace {

// Of the page of a proxy the beginning says which it is.
constexpr size_t kMaxBodyInMessage = 200;
// The API server's own messages can quote a whole object.
constexpr size_t kMaxMessage = 2'000;

Errc code_of(unsigned status, std::string_view reason) {
  switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return Errc::invalid;
    case 401:
    case 403:
      return Errc::denied;
    case 404:
      return Errc::not_found;
    case 409:
      return reason == "AlreadyExists" ? Errc::exists : Errc::busy;
    case 410:
      return Errc::not_yet;
    case 429:
    case 503:
      return Errc::busy;
    default:
      return Errc::peer;
  }
}

const char* meaning_of(unsigned status) {
  switch (status) {
    case 401:
      return "the API server does not know this user: the token or certificate is wrong or has ended";
    case 403:
      return "this user has not the right";
    case 410:
      return "that version is no longer known";
    case 429:
      return "the API server is overloaded";
    default:
      return nullptr;
  }
}

Error make_error(const std::string& what, unsigned status, std::string_view reason, std::string message) {
  std::string text = what + ": " + std::to_string(status);
  const char* meaning = meaning_of(status);
  if (meaning != nullptr) text += std::string(", ") + meaning;
  if (!message.empty()) text += ": " + well_formed(message.substr(0, kMaxMessage));
  return Error{code_of(status, reason), static_cast<int>(status), std::move(text)};
}

}  // namespace

Error refusal(const std::string& what, unsigned status, std::string_view body) {
  const auto parsed = Json::parse(body);
  if (parsed && text_at(*parsed, {"kind"}) == "Status")
    return make_error(what, status, text_at(*parsed, {"reason"}), text_at(*parsed, {"message"}));
  std::string beginning;
  for (const char c : body.substr(0, kMaxBodyInMessage)) beginning += c == '\n' || c == '\r' ? ' ' : c;
  return make_error(what, status, "", beginning);
}

Error refusal_of_event(const std::string& what, const Json& status) {
  const Json* code = status.find("code");
  const int64_t* number = code == nullptr ? nullptr : code->as_int();
  const bool valid = number != nullptr && *number >= 400 && *number <= 599;
  return make_error(what, valid ? static_cast<unsigned>(*number) : 500, text_at(status, {"reason"}),
                    text_at(status, {"message"}));
}

Result<int> read_end_of_command(std::string_view status) {
  const Json value = TRY(Json::parse_object(status), "the end of the command");
  ObjectReader reader(*value.as_object(), "");
  if (TRY(reader.text("status")).value_or("") == "Success") return 0;
  std::string message = well_formed(TRY(reader.text("message")).value_or("").substr(0, kMaxMessage));
  if (message.empty()) message = "it could not be run, and the API server gives no reason";
  if (TRY(reader.text("reason")).value_or("") != "NonZeroExitCode") return Error{Errc::peer, 0, message};
  const Json::Object* details = TRY(reader.object("details"));
  const Json* listed = details == nullptr ? nullptr : ObjectReader(*details, "details").value("causes");
  const Json causes = listed == nullptr ? Json() : *listed;
  for (const Json& cause : causes.as_array() == nullptr ? Json::Array() : *causes.as_array()) {
    const Json* reason = cause.find("reason");
    const Json* code = cause.find("message");
    if (reason == nullptr || code == nullptr || code->as_text() == nullptr || *reason != Json("ExitCode"))
      continue;
    const auto number = parse_decimal(*code->as_text());
    if (number && *number <= 255) return static_cast<int>(*number);
  }
  return Error{Errc::protocol, 0, "no exit code in: " + message};
}

}  // namespace vfrail::kube
