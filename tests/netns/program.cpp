#include "tests/netns/program.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace vfrail::test {

namespace {

constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void redirect(const std::string& path, int flags, int to) {
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(126);
  ::close(fd);
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Input and output are files: no pipe to fill up, whatever the order of reads and writes.
Program::Program(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment,
                 const std::string& input)
    : folder_(std::make_unique<TempDir>()) {
  write_text(folder_->path("in"), input);
  std::vector<std::string> texts{std::string("PATH=") + kPath};
  for (const auto& [name, value] : environment) texts.push_back(name + "=" + value);
  std::vector<char*> env;
  for (std::string& text : texts) env.push_back(text.data());
  env.push_back(nullptr);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ != 0) return;
  redirect(folder_->path("in"), O_RDONLY, STDIN_FILENO);
  redirect(folder_->path("out"), O_WRONLY | O_CREAT, STDOUT_FILENO);
  redirect(folder_->path("err"), O_WRONLY | O_CREAT, STDERR_FILENO);
  ::execvpe(argv[0], argv.data(), env.data());
  ::_exit(127);
}

Program::Program(Program&& other) noexcept
    : folder_(std::move(other.folder_)), pid_(std::exchange(other.pid_, -1)) {}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

std::string Program::err() const { return read_text(folder_->path("err")); }

Outcome Program::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(folder_->path("out")),
          read_text(folder_->path("err"))};
}

std::string shell(const std::string& command) {
  Outcome done = Program({"/bin/sh", "-ec", command}, {}, "").wait();
  if (done.status != 0) throw std::runtime_error(command + ": " + done.err + done.out);
  return done.out;
}

}  // namespace vfrail::test
