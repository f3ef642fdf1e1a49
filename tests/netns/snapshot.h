// The state of a node as text, one fact a line, read through netlink and from files: `ip` would take longer.
#pragma once

#include "common/kernel/kernel.h"
#include "common/result.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace vfrail::test {

// What must not happen did.
struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T must_read(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + result.error().text);
  return std::move(*result);
}

std::unique_ptr<Kernel> kernel_at(const std::string& path);

// A namespace: links, addresses, routes, RDMA devices; without what changes by itself (carrier, indices).
std::string snapshot(Kernel& kernel);
// Every file of a folder, with where it leads to; without host-local's own, which are its lock and the
// address that it gave out last.
std::string files_below(const std::string& folder);
// The lines that only one of two texts has, with - and + before them.
std::string difference(const std::string& before, const std::string& after);

}  // namespace vfrail::test
