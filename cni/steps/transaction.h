// Transaction: the undo stack of one ADD. Each step arms its inverse first, because a step can fail
// half-done.
#pragma once

#include "common/result.h"

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::cni {

class Transaction {
 public:
  using Undo = std::function<Result<>()>;

  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  // For an early return. Not while an exception passes: that is treated like a kill, after which the record
  // is still there and DEL or the next ADD does the rest.
  ~Transaction() {
    if (std::uncaught_exceptions() == 0) roll_back();
  }

  // An undo must be safe if its step never ran, and owns what it needs (it runs after the step's scope is
  // gone).
  void undo(std::string what, Undo undo) { steps_.emplace_back(std::move(what), std::move(undo)); }
  void commit() { steps_.clear(); }

  // Newest first. Goes on after a failure; returns all failures as one text, empty if there is none.
  std::string roll_back() {
    std::string failures;
    while (!steps_.empty()) {
      auto [what, undo] = std::move(steps_.back());
      steps_.pop_back();
      const auto result = undo();
      if (!result) failures += (failures.empty() ? "" : "; ") + what + ": " + result.error().text;
    }
    return failures;
  }

 private:
  std::vector<std::pair<std::string, Undo>> steps_;
};

}  // namespace vfrail::cni
