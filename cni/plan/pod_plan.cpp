// What the pod gets beside its interface: every refusal, before anything has changed. Pure.
#include "cni/plan/plan.h"
#include "cni/plan/routing.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <regex.h>

namespace vfrail::cni {

namespace {

struct FreeRegex {
  void operator()(regex_t* pattern) const {
    ::regfree(pattern);
    delete pattern;
  }
};
using Regex = std::unique_ptr<regex_t, FreeRegex>;

// tuning reads Go's dialect. What POSIX takes for something else is refused, because a list that means
// something else than its author thought allows too much or too little: \d is a plain d to regcomp(3).
bool has_other_escape(std::string_view pattern) {
  constexpr std::string_view kSame = "wWsSbB";
  for (size_t at = pattern.find('\\'); at != std::string_view::npos && at + 1 < pattern.size();
       at = pattern.find('\\', at + 2)) {
    const auto next = static_cast<unsigned char>(pattern[at + 1]);
    if (std::isalnum(next) != 0 && kSame.find(pattern[at + 1]) == std::string_view::npos) return true;
  }
  return false;
}

Result<Regex> compile(const std::string& pattern) {
  const auto refuse = [&](const std::string& reason) {
    return Error{Errc::invalid, 0,
                 "\"" + pattern.substr(0, 80) + "\" is not a POSIX extended regular expression: " + reason};
  };
  if (has_other_escape(pattern)) return refuse("an escape that POSIX does not have");
  auto raw = std::make_unique<regex_t>();
  const int code = ::regcomp(raw.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code == 0) return Regex(raw.release());
  char reason[128];
  ::regerror(code, raw.get(), reason, sizeof reason);
  return refuse(reason);
}

// The other spelling of a key, so that "net/ipv4/..." is allowed where "net.ipv4...." is.
std::string dotted(const SysctlSetting& sysctl) {
  std::string out = "net/" + sysctl.path;
  for (char& c : out) c = c == '.' ? '/' : c == '/' ? '.' : c;
  return out;
}

bool matches(const Regex& pattern, const SysctlSetting& sysctl) {
  return ::regexec(pattern.get(), sysctl.key.c_str(), 0, nullptr, 0) == 0 ||
         ::regexec(pattern.get(), dotted(sysctl).c_str(), 0, nullptr, 0) == 0;
}

// tuning trims its lines: an end of line of Windows is not a part of a pattern.
std::string trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  const size_t start = line.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return "";
  return std::string(line.substr(start, line.find_last_not_of(kBlanks) - start + 1));
}

// The patterns match the key with IFNAME in it, and anywhere in it unless they are anchored, as in tuning.
Result<> check_allowed(const std::vector<SysctlSetting>& sysctls, const std::string& allow_list) {
  std::vector<Regex> patterns;
  for (const std::string& line : split(allow_list, "\n")) {
    const std::string pattern = trimmed(line);
    if (!pattern.empty()) patterns.push_back(TRY(compile(pattern), kSysctlAllowList));
  }
  for (const SysctlSetting& sysctl : sysctls) {
    const bool allowed = std::any_of(patterns.begin(), patterns.end(),
                                     [&](const Regex& pattern) { return matches(pattern, sysctl); });
    if (allowed) continue;
    return Error{Errc::denied, 0,
                 "sysctl: no line of the node's " + std::string(kSysctlAllowList) + " allows " + sysctl.key +
                     "; add one, or take the key out of the network",
                 ErrorId::sysctl_not_allowed};
  }
  return {};
}

// Only one that is not in use: then DEL identifies its rules by the table.
}  // namespace

Result<uint32_t> choose_table(const SourceRouting& wanted, const std::vector<uint32_t>& in_use) {
  constexpr uint32_t kFirst = 100;  // sbr's
  constexpr uint32_t kEnd = 253;    // the kernel's own follow (linux/rtnetlink.h)
  const auto taken = [&](uint32_t table) {
    return std::any_of(in_use.begin(), in_use.end(), [&](uint32_t one) { return is_own_table(one, table); });
  };
  if (wanted.table && taken(*wanted.table)) {
    return Error{Errc::exists, 0,
                 "sourceRouting: table " + std::to_string(*wanted.table) +
                     " has routes or rules in the pod already; name another one, or none (true)",
                 ErrorId::routing_table_taken};
  }
  if (wanted.table) return *wanted.table;
  for (uint32_t table = kFirst; table < kEnd; ++table) {
    if (!taken(table)) return table;
  }
  return Error{Errc::exists, 0,
               "sourceRouting: the tables 100 to 252 are all in use in the pod; name another table",
               ErrorId::routing_table_taken};
}

Result<> plan_pod(const PodSettings& wanted, const State& state, AttachPlan& plan) {
  if (wanted.source_routing) {
    plan.routing_table = TRY(choose_table(*wanted.source_routing, state.tables_in_use));
  }
  if (state.sysctl_allow_list) TRY(check_allowed(wanted.sysctls, *state.sysctl_allow_list));
  return {};
}

}  // namespace vfrail::cni
