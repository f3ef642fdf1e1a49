// common/result.h: values, errors, and how the text of an error grows outward.
#include "common/result.h"

#include <cerrno>
#include <memory>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Errc::invalid, 0, std::to_string(number) + " is odd"};
  return number / 2;
}

Result<int> quarter(int number) {
  const int once = TRY(half(number), "first half");
  return TRY(half(once), "second half");
}

Result<std::unique_ptr<int>> boxed(int number) {
  auto box = std::make_unique<int>(TRY(half(number), "box"));
  return box;
}

Result<> check_even(int number) {
  TRY(half(number));
  return {};
}

}  // namespace

TEST_CASE("TRY gives the value when there is one") { CHECK(*quarter(12) == 3); }

TEST_CASE("TRY returns the error with its context in front") {
  CHECK(quarter(3).error().text == "first half: 3 is odd");
  CHECK(quarter(6).error().text == "second half: 3 is odd");
}

TEST_CASE("An empty description leaves the text of an error as it is") {
  CHECK(check_even(5).error().text == "5 is odd");
}

TEST_CASE("A Result carries move-only values") {
  auto result = boxed(8);
  REQUIRE(result);
  const std::unique_ptr<int> box = *std::move(result);
  CHECK(*box == 4);
}

TEST_CASE("value_or gives the other value for an error") {
  CHECK(half(3).value_or(-1) == -1);
  CHECK(half(4).value_or(-1) == 2);
}

TEST_CASE("An error of errno has its kind, its number and both of its names") {
  const Error error = Error::from_errno(EEXIST, "create x");
  CHECK(error.code == Errc::exists);
  CHECK(error.sys == EEXIST);
  CHECK(error.text == "create x: EEXIST (File exists)");
}

TEST_CASE("Each errno that a caller decides on has its kind") {
  const auto [number, kind] = GENERATE(table<int, Errc>({{ENOENT, Errc::not_found},
                                                         {ENODEV, Errc::not_found},
                                                         {ESRCH, Errc::not_found},
                                                         {EBUSY, Errc::busy},
                                                         {EAGAIN, Errc::busy},
                                                         {EPERM, Errc::denied},
                                                         {EACCES, Errc::denied},
                                                         {EOPNOTSUPP, Errc::unsupported},
                                                         {ETIMEDOUT, Errc::timeout},
                                                         {EINVAL, Errc::invalid},
                                                         {EIO, Errc::system}}));
  CAPTURE(number);
  CHECK(Error::from_errno(number, "").code == kind);
}

TEST_CASE("An errno that has no name is given as a number") { CHECK(errno_text(99999) == "errno 99999"); }

TEST_CASE("A second failure is appended, and an empty one is not") {
  CHECK(Error{Errc::system, 0, "a"}.and_also("b").text == "a; also: b");
  CHECK(Error{Errc::system, 0, "a"}.and_also("").text == "a");
}

}  // namespace vfrail
