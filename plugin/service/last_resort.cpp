#include "plugin/service/last_resort.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Allocates nothing: there may be no memory.
[[noreturn]] void on_terminate() {
  const char* reason = "a library ended the process";
  if (const auto thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& failure) {
      reason = failure.what();
    } catch (...) {
    }
  }
  say("vfrail: fatal: ");
  say(reason);
  say("; check the limits of memory, processes and open files\n");
  ::_exit(1);
}

void on_abort(int) {
  say("vfrail: fatal: a library ended the process; check the limits of memory, processes and open files\n");
  ::_exit(1);
}

void on_alarm(int) {
  say("vfrail: did not stop in time, exiting; check the limits of memory, processes and open files\n");
  ::_exit(1);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void say_why_it_ends() {
  std::set_terminate(on_terminate);
  handle(SIGABRT, on_abort);
}

void end_within(std::chrono::seconds time) {
  handle(SIGALRM, on_alarm);
  ::alarm(static_cast<unsigned>(time.count()));
}

}  // namespace vfrail::plugin
