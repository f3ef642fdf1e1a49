// cni/steps/transaction.h
#include "cni/steps/transaction.h"

#include <stdexcept>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

// Notes the undos that ran, in their order.
struct Steps {
  std::string ran;
  Transaction::Undo step(const std::string& name, bool fails = false) {
    return [this, name, fails]() -> Result<> {
      ran += name;
      if (fails) return Error{Errc::system, 0, name + " is stuck"};
      return {};
    };
  }
};

}  // namespace

TEST_CASE("A roll-back runs the newest undo first") {
  Steps steps;
  Transaction tx;
  tx.undo("a", steps.step("a"));
  tx.undo("b", steps.step("b"));
  CHECK(tx.roll_back().empty());
  CHECK(steps.ran == "ba");
}

TEST_CASE("A roll-back goes on after a failure and reports all of them") {
  Steps steps;
  Transaction tx;
  tx.undo("first", steps.step("a", true));
  tx.undo("second", steps.step("b"));
  tx.undo("third", steps.step("c", true));
  CHECK(tx.roll_back() == "third: c is stuck; first: a is stuck");
  CHECK(steps.ran == "cba");
}

TEST_CASE("After a commit there is nothing to undo") {
  Steps steps;
  {
    Transaction tx;
    tx.undo("a", steps.step("a"));
    tx.commit();
    CHECK(tx.roll_back().empty());
  }
  CHECK(steps.ran.empty());
}

TEST_CASE("A transaction that ends without a commit rolls back, once") {
  Steps steps;
  {
    Transaction tx;
    tx.undo("a", steps.step("a"));
    tx.roll_back();
  }
  {
    Transaction tx;
    tx.undo("b", steps.step("b"));
  }
  CHECK(steps.ran == "ab");
}

TEST_CASE("An exception undoes nothing, like a kill") {
  Steps steps;
  try {
    Transaction tx;
    tx.undo("a", steps.step("a"));
    throw std::runtime_error("out of memory, say");
  } catch (const std::runtime_error&) {
  }
  CHECK(steps.ran.empty());
}

}  // namespace vfrail
