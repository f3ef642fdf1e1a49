// Result<T> and Error: the return type of every function of vfrail that can fail. Owns nothing else; knows no
// subsystem. A small subset of std::expected (C++23), so that a later move is an alias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace vfrail {

// What it is about: "VF-DEVICE-IN-USE", which `vfrail explain` explains. All of them are in error_id.h.
enum class ErrorId : uint8_t;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// The kind of failure. main() and the gRPC services map it to a CNI code, a gRPC status or an exit code.
enum class Errc : uint8_t {
  invalid,      // the input is wrong; the admin must change it
  not_found,    // the object named does not exist
  exists,       // the name or object is already there
  wrong_netns,  // a path that should lead to a pod's network namespace does not
  busy,         // someone else has it; a retry later can help
  not_yet,      // it is on its way: the same call a moment later succeeds, or knows more
  denied,       // not enough rights
  unsupported,  // the kernel, driver or this version cannot do it
  timeout,      // a deadline passed
  protocol,     // a peer (kernel, kubelet, IPAM) violated its contract
  peer,         // a peer refused, with its own text and code
  system,       // a system call failed for another reason; `sys` has the errno
};

struct Error {
  Errc code = Errc::system;
  int sys = 0;  // errno; for Errc::peer the peer's own code; 0 for none
  std::string text;
  std::optional<ErrorId> specific = {};  // where more can be said about the remedy than `code` says

  // The specific one, else that of `code`: no error is without.
  ErrorId id() const;
  std::string id_text() const;  // "VF-DEVICE-IN-USE"
  // "text [VF-DEVICE-IN-USE]", for where there is no other place for the id.
  std::string text_with_id() const;
  // Keeps a specific id that it has: who made the error knew best.
  Error&& with_id(ErrorId id) &&;

  // Prepends the context: "what: text".
  Error&& in(std::string_view what) &&;
  // Appends a second failure (of a roll-back, say) to the same message.
  Error&& and_also(std::string_view other) &&;

  // "errno name (text)" behind `what`; the code is derived from the errno.
  static Error from_errno(int sys, std::string_view what);
};

// "EEXIST (File exists)".
std::string errno_text(int sys);

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  // Not of a Result<bool>: `if (is_there())` would test whether the read succeeded.
  explicit operator bool() const requires(!std::is_same_v<T, bool>) { return ok(); }
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
  T value_or(T other) && { return ok() ? std::move(**this) : std::move(other); }
  // Takes "could not be read" for "not there". Only where nothing depends on it: a report, a log field.
  T or_none() && requires is_optional<T> { return ok() ? std::move(**this) : T(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  void operator*() const {}
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

// The result unchanged, but that an error without a specific id gets this one.
template <class T>
Result<T> with_id(ErrorId id, Result<T> result) {
  if (!result.ok()) return std::move(result.error()).with_id(id);
  return result;
}

}  // namespace vfrail

// TRY(expression): evaluates to the value of a Result, or returns its error from the enclosing function,
// unchanged. TRY(expression, what): the same with "what: " in front of the error's text, for who knows the
// object.
//
// A statement expression is a GNU extension that GCC and clang share; __extension__ keeps -Wpedantic quiet.
// Not for use between the parts of a braced initializer: GCC 12 does not destroy the parts before it when it
// returns from there. The counter gives nested uses variables of their own.
#define TRY(...) VFRAIL_TRY_PICK(__VA_ARGS__, VFRAIL_TRY_IN, VFRAIL_TRY_SILENT, )(__VA_ARGS__, __COUNTER__)
#define VFRAIL_TRY_PICK(expression, what, name, ...) name
#define VFRAIL_TRY_SILENT(expression, id) VFRAIL_TRY(expression, , id)
#define VFRAIL_TRY_IN(expression, what, id) VFRAIL_TRY(expression, .in(what), id)
#define VFRAIL_TRY(expression, context, id)                                                  \
  __extension__({                                                                            \
    auto try_result_##id = (expression);                                                     \
    if (!try_result_##id.ok()) return std::move(std::move(try_result_##id).error()) context; \
    *std::move(try_result_##id);                                                             \
  })
