#include "cni/in_pod/nccl/nccl_log.h"

#include "common/text.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

namespace vfrail::pod {

namespace {

constexpr size_t kMaxShown = 120;
constexpr size_t kMaxNames = 64;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

void keep_first(std::optional<NcclLogLine>& first, const NcclLogLine& line) {
  if (!first) first = NcclLogLine{line.number, line.text.substr(0, kMaxShown)};
}

// "[0]mlx5_2:1/RoCE [1]mlx5_6:1/RoCE [RO]; OOB eth0:10.0.0.1<0>": the words that begin with a number.
std::vector<std::string> device_names(std::string_view list) {
  std::vector<std::string> out;
  for (const std::string& word : split(list.substr(0, list.find(';')), " ")) {
    const size_t end = word.find(']');
    const bool numbered = word.starts_with('[') && end != word.npos && end > 1 &&
                          word.find_first_not_of("0123456789", 1) == end;
    if (numbered && out.size() < kMaxNames) out.push_back(word.substr(end + 1, word.find('/') - end - 1));
  }
  return out;
}

// "NCCL INFO Using network AWS Libfabric": NCCL's own networks are called IB and Socket.
void add_network(const NcclLogLine& line, NcclLog& log) {
  constexpr std::string_view kUsing = "Using network ";
  const size_t at = line.text.find(kUsing);
  if (at == line.text.npos || log.plugin) return;
  std::string name = line.text.substr(at + kUsing.size());
  name.erase(name.find_last_not_of(" \r") + 1);
  if (name.empty() || name == "IB" || name == "Socket") return;
  keep_first(log.plugin, line);
  log.plugin_name = name.substr(0, kMaxShown);
}

void add_devices(const NcclLogLine& line, std::string_view list, NcclLog& log) {
  auto names = device_names(list);
  if (log.fewest_devices && log.fewest_devices->names.size() <= names.size()) return;
  log.fewest_devices = NcclDevices{{line.number, line.text.substr(0, kMaxShown)}, std::move(names)};
}

// Of a stream that is closed.
struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

}  // namespace

void add_nccl_line(NcclLogLine line, NcclLog& log) {
  const bool has_symptom = log.symptoms.add_line(line.text);
  const size_t begin = line.text.find("NCCL ");
  if (begin == line.text.npos) return;
  line.text.erase(0, begin);
  const std::string_view text = line.text;
  ++log.lines;
  constexpr std::string_view kUsing = "NET/IB : Using ";
  if (!has_symptom && text.starts_with("NCCL WARN")) {
    keep_first(log.warning, line);
    ++log.warnings;
  }
  add_network(line, log);
  if (const size_t at = text.find(kUsing); at != text.npos)
    add_devices(line, text.substr(at + kUsing.size()), log);
  if (!contains(text, " via NET/IB")) return;
  ++log.channels;
  if (contains(text, "/GDRDMA")) return;
  ++log.channels_without_gpu_rdma;
  keep_first(log.without_gpu_rdma, line);
}

Result<NcclLog> read_nccl_log(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return Error::from_errno(errno, "open " + path);
  NcclLog out;
  NcclLogLine line{1, {}};
  std::vector<char> block(size_t{1} << 16);
  size_t total = 0;
  while (const size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
    total += got;
    if (total > kMaxNcclLog)
      return Error{Errc::invalid, 0, path + " has more than " + std::to_string(kMaxNcclLog >> 20) + " MiB"};
    for (size_t i = 0; i < got; ++i) {
      if (block[i] != '\n') {
        if (line.text.size() < kMaxNcclLine) line.text += block[i];
        continue;
      }
      const size_t next = line.number + 1;
      add_nccl_line(std::exchange(line, {next, {}}), out);
    }
  }
  if (std::ferror(file.get()) != 0) return Error::from_errno(EIO, "read " + path);
  add_nccl_line(std::move(line), out);
  return out;
}

}  // namespace vfrail::pod
