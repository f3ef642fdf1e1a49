// OnePod: a node with one pod, what the calls for it are and how they end. OneDevice: the same with the
// device 0000:03:02.1, whose interface is vf1. What most tests of an attachment begin with.
#pragma once

#include "tests/netns/node.h"

#include <string>
#include <utility>

#include <catch2/catch.hpp>

namespace vfrail::test {

struct OnePod : Node {
  std::string pod = add_pod("a");
  std::string before;       // world() without an attachment; who adds devices reads it
  Json network = config();  // of the calls that name no other

  Call call(const std::string& verb, Json of_network) const {
    Call out;
    out.verb = verb;
    out.netns = pod;
    out.config = std::move(of_network);
    return out;
  }
  Call call(const std::string& verb) const { return call(verb, network); }

  // It must succeed and, but for ADD, says nothing.
  Json done(const Call& call) const {
    const Outcome outcome = run(call);
    INFO(call.verb << " " << call.config.text() << "\nstdout: " << outcome.out
                   << "\nstderr: " << outcome.err);
    REQUIRE(outcome.status == 0);
    if (call.verb != "ADD") REQUIRE(outcome.out.empty());
    return json_of(outcome);
  }
  // It fails with those words and that code, or with whichever for 0, and changes nothing.
  Outcome refused(const Call& call, int code, const std::string& words) const {
    const std::string world_before = world();
    Outcome outcome = run(call);
    INFO(call.verb << " stdout: " << outcome.out << "\nstderr: " << outcome.err);
    CHECK(outcome.status != 0);
    if (code != 0) CHECK(code_of(outcome) == code);
    CHECK_THAT(message_of(outcome), Catch::Contains(words));
    CHECK(world() == world_before);
    return outcome;
  }
};

struct OneDevice : OnePod {
  // `set_up`: commands that give the interface a state of its own, to be kept.
  explicit OneDevice(const std::string& set_up = "true") {
    add_device("0000:03:02.1", "vf1");
    shell(set_up);
    before = world();
  }
};

}  // namespace vfrail::test
