// common/errors/error_id.h: every id has its row with all three texts, and every error has an id.
#include "common/errors/error_id.h"

#include "common/explain.h"
#include "common/result.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

using Catch::Contains;

std::vector<ErrorId> all_ids() {
  std::vector<ErrorId> out;
  for (int id = 0; id <= static_cast<int>(kLastErrorId); ++id) out.push_back(static_cast<ErrorId>(id));
  return out;
}

constexpr Errc kAll[] = {Errc::invalid,  Errc::not_found, Errc::exists,      Errc::wrong_netns,
                         Errc::busy,     Errc::denied,    Errc::unsupported, Errc::timeout,
                         Errc::protocol, Errc::peer,      Errc::system};

}  // namespace

TEST_CASE("every id has a row of its own, with symptom, cause and remedy in whole sentences") {
  CHECK(all_errors().size() == all_ids().size());
  for (const ErrorId id : all_ids()) {
    const ErrorRow& row = row_of(id);
    INFO(row.name);
    CHECK(row.id == id);
    for (const std::string_view text : {row.symptom, row.cause, row.remedy}) {
      INFO(text);
      CHECK(text.size() > 5);
      CHECK(text.ends_with('.'));
      CHECK(text.find_first_of("\n<>") == std::string_view::npos);  // it is part of a Markdown document
    }
  }
}

TEST_CASE("every name is one of its own, of capital letters, digits and dashes") {
  std::set<std::string_view> names;
  for (const ErrorRow* row : all_errors()) {
    INFO(row->name);
    CHECK(names.insert(row->name).second);
    CHECK(row->name.starts_with("VF-"));
    CHECK(row->name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string_view::npos);
  }
}

TEST_CASE("an id is found by its name in whatever case, with and without VF-") {
  for (const ErrorRow* row : all_errors()) {
    INFO(row->name);
    CHECK(parse_error_id(row->name) == row->id);
    CHECK(parse_error_id(row->name.substr(3)) == row->id);
  }
  CHECK(parse_error_id("vf-device-in-use") == ErrorId::device_in_use);
  CHECK(parse_error_id("device_in_use") == ErrorId::device_in_use);
  for (const char* other : {"", "VF-", "VF", "VF-DEVICE-IN", "device in use", "-DEVICE-IN-USE"}) {
    INFO(other);
    CHECK_FALSE(parse_error_id(other));
  }
}

TEST_CASE("every error has an id, that of its kind where it names none") {
  std::set<ErrorId> seen;
  for (const Errc code : kAll) {
    const Error error{code, 0, "x"};
    CHECK(seen.insert(error.id()).second);
    CHECK(error.id_text().starts_with("VF-"));
  }
  CHECK(Error{}.id() == ErrorId::system_call);
  CHECK(Error{Errc::busy, 0, "x", ErrorId::device_in_use}.id_text() == "VF-DEVICE-IN-USE");
  CHECK(Error{Errc::busy, 0, "x"}.text_with_id() == "x [VF-BUSY]");
}

TEST_CASE("an error keeps the id that it has first, through all that is put around it") {
  Error error{Errc::busy, 0, "x"};
  error = std::move(error).with_id(ErrorId::lock_held).with_id(ErrorId::state_folder);
  CHECK(std::move(error).in("wait").and_also("y").id() == ErrorId::lock_held);
  const Result<int> named = with_id(ErrorId::ipam_failed, Result<int>(Error{Errc::peer, 0, "x"}));
  CHECK(named.error().id() == ErrorId::ipam_failed);
  CHECK(with_id(ErrorId::network_config, named).error().id() == ErrorId::ipam_failed);
  CHECK(*with_id(ErrorId::ipam_failed, Result<int>(3)) == 3);
}

TEST_CASE("an explanation has the name and all three texts, a list has a line for each id") {
  const ErrorRow& row = row_of(ErrorId::device_in_use);
  CHECK_THAT(explanation(row), Contains("VF-DEVICE-IN-USE\n  Symptom: ") &&
                                   Contains(std::string(row.cause)) && Contains(std::string(row.remedy)));
  const std::string list = error_list();
  CHECK(static_cast<size_t>(std::count(list.begin(), list.end(), '\n')) == all_errors().size());
  for (const ErrorRow* one : all_errors()) {
    INFO(one->name);
    CHECK(list.find(std::string(one->name) + " ") != std::string::npos);
    CHECK(headline(*one).find(". ") == std::string_view::npos);
    CHECK_FALSE(headline(*one).ends_with('.'));
  }
}

TEST_CASE("an id that is not known is answered with the nearest one, or with those that have the word") {
  CHECK_THAT(no_such_id("vf-device-in-uze").text, Contains("\"VF-DEVICE-IN-USE\" is probably meant"));
  CHECK_THAT(no_such_id("ipam").text, Contains("VF-IPAM-FAILED") && Contains("VF-IPAM-TIMEOUT"));
  CHECK_THAT(no_such_id("quux").text, Contains("lists all"));
  CHECK(no_such_id(std::string(5000, 'x')).text.size() < 200);
}

}  // namespace vfrail
