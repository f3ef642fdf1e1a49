// The end of a process that has run out of memory, threads or file descriptors: with a reason and an exit
// code other than 0, and in bounded time. Libraries that cannot start a thread or allocate abort, throw where
// nobody catches, or wait for ever in their destructors.
#pragma once

#include <chrono>

namespace vfrail::plugin {

// From now on an exception that nobody catches, or abort(), writes "PROGRAM: REASON" to stderr and ends the
// process with exit code 1. For the whole process, once.
void say_why_it_ends();

// After this time the process ends with a message and exit code 1, if it has not by itself. With alarm(2),
// because no thread may be needed.
void end_within(std::chrono::seconds time);

}  // namespace vfrail::plugin
