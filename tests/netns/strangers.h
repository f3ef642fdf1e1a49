// Strangers: what others have on a node that has nothing to do with a device, and what they can do, in a user
// namespace of their own and without any right on the host, to make a search of the node slow: mounts by the
// thousand at long paths, processes with a root directory each, a namespace that is mounted where nobody can
// open it; and many processes and network namespaces. They end with the object.
#pragma once

#include "tests/netns/node.h"

#include <sys/types.h>
#include <vector>

namespace vfrail::test {

class Strangers {
 public:
  struct Counts {
    int processes = 1000;
    int namespaces = 100;  // that some of the processes are in
    int mounts = 1000;
    int depth = 1300;  // of the folder with the mounts; a path has 4,096 bytes
    int roots = 100;
    bool closed = true;  // a mounted namespace that another mount covers
  };
  // The node's /proc becomes the machine's.
  Strangers(const Node& node, const Counts& counts);
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;
  ~Strangers();

 private:
  pid_t crowd_ = -1;    // the parent of the processes
  pid_t hostile_ = -1;  // of those with mounts
};

}  // namespace vfrail::test
