// Deadlines of tests: against what would hang, never a measure of how fast anything is. A machine with ten
// times more to do than it can must not make a test fail. How long a test took, `ctest` and `-d yes` print.
#pragma once

#include <chrono>

namespace vfrail::test {

inline constexpr std::chrono::milliseconds kDeadline{60'000};
// Longer than any test may run (TIMEOUT of ctest): for what must not be waited for.
inline constexpr std::chrono::milliseconds kForEver{3'600'000};

}  // namespace vfrail::test
