// A sysctl that is set twice is ambiguous, so it is refused, as tuning does. The parsed tree has only the
// last one, so this reads the text.
#include "cni/conf/net_conf.h"

#include <algorithm>
#include <cctype>

namespace vfrail::cni {

namespace {

// Reads a text that is known to be JSON, and calls `key` with the path of each object and each of its keys,
// as they are written.
class KeyScanner {
 public:
  explicit KeyScanner(std::string_view text) : text_(text) {}

  template <class Visit>
  void each_key(const Visit& visit) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        read_text(visit);
      } else if (c == '{' || c == '[') {
        path_.push_back(last_key_);
      } else if (c == '}' || c == ']') {
        if (!path_.empty()) path_.pop_back();
      }
    }
  }

 private:
  // It is a key if a colon follows.
  template <class Visit>
  void read_text(const Visit& visit) {
    const size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::string_view found = text_.substr(start, std::min(at_, text_.size()) - start);
    const size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
    if (next == std::string_view::npos || text_[next] != ':') return;
    visit(path_, found);
    last_key_ = found;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string_view last_key_;
  std::vector<std::string_view> path_;  // the key of each object or list around, none for the outermost
};

bool is(std::string_view key, std::string_view name) {
  return std::equal(key.begin(), key.end(), name.begin(), name.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

// `sysctl` of the network, or of args.cni.
bool of_sysctl(const std::vector<std::string_view>& path) {
  if (path.size() == 2) return is(path[1], "sysctl");
  return path.size() == 4 && is(path[1], "args") && is(path[2], "cni") && is(path[3], "sysctl");
}

}  // namespace

Result<> refuse_repeated_sysctls(std::string_view text) {
  std::vector<std::pair<size_t, std::string_view>> seen;  // the depth distinguishes the two places
  std::string repeated;
  KeyScanner(text).each_key([&](const std::vector<std::string_view>& path, std::string_view key) {
    if (!repeated.empty() || !of_sysctl(path)) return;
    const std::pair<size_t, std::string_view> one{path.size(), key};
    if (std::find(seen.begin(), seen.end(), one) != seen.end()) repeated = key;
    if (seen.size() < kMaxSysctlKeys) seen.push_back(one);
  });
  if (repeated.empty()) return {};
  return Error{Errc::invalid, 0,
               "sysctl: " + repeated.substr(0, 255) + " is there twice (duplicated); take one of them out"};
}

}  // namespace vfrail::cni
