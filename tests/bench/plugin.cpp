#include "plugin/inventory.h"
#include "tests/bench/node_tree.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
using namespace vfrail;
int main(int, char** argv) {
  test::TempDir folder(test::TempDir::On::memory);
  bench::write_node(folder.path(), std::strtoul(argv[1], nullptr, 10));
  std::vector<double> ms;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto got = scan(SysRoot(folder.path()), nullptr);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (i == 0) std::printf("%zu functions\n", got->functions.size());
  }
  std::sort(ms.begin(), ms.end());
  std::printf("scan: min %.1f median %.1f ms\n", ms.front(), ms[ms.size() / 2]);
}
