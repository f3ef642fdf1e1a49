// vfrail: the device plugin and the administrator's command line. Flags in, exit code out:
// 0 done, 1 failed, 2 wrong usage or configuration.
#include "common/command/completion.h"
#include "common/command/manual.h"
#include "common/node/sys_root.h"
#include "common/text.h"
#include "plugin/command_line.h"
#include "plugin/commands.h"
#include "plugin/kubelet/pod_resources.h"

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace vfrail;
using namespace vfrail::plugin;

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

Result<DevicesInUse> ask_kubelet(const std::string& kubelet_root) {
  return list_pod_resources({.socket = pod_resources_socket(kubelet_root), .resources = {}});
}

// Of the first process, which is the daemon in its own container: `kubectl exec` runs beside it.
std::vector<std::string> daemon_command_line() {
  const auto text = SysRoot("/").text("proc/1/cmdline");
  return text && *text ? split(**text, std::string_view("\0", 1)) : std::vector<std::string>();
}

int run(int argc, char** argv) {
  CommandLine line;
  if (const auto ended = line.parse(read_command_line({argv, argv + argc}), daemon_command_line()))
    return *ended;
  const std::string command = line.command();
  if (command == "serve") return serve(line.serve);
  if (command == "inspect") return inspect(line.inspect, ask_kubelet);
  if (command == "check-config") return check_config(line.check_config);
  if (command == "render") return render(line.render);
  if (command == "doctor") return doctor(line.doctor);
  if (command == "top") return top(line.top, ask_kubelet);
  if (command == "plan") return plan(line.advice.plan);
  if (command == "convert") return convert(line.advice.convert);
  if (command == "example") return example(line.advice.example);
  if (command == "explain") return explain(line.explain);
  if (command == "capture") return capture(line.capture);
  if (command == "completion") return print(completion_for(line.shell, line.text()).value_or(""));
  if (command == "man") return print(manual_page(line.text(), 8, VFRAIL_VERSION));
  return print("vfrail " VFRAIL_VERSION "\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "vfrail: %s\n", failure.what());
    return 1;
  }
}
