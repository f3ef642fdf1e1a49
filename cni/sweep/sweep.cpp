#include "cni/sweep/sweep.h"

#include "cni/steps/pod_files_step.h"
#include "cni/sweep/adopt.h"
#include "cni/verbs/attachment.h"
#include "cni/verbs/orphan.h"
#include "cni/verbs/release.h"
#include "common/escape.h"

#include <algorithm>
#include <functional>

namespace vfrail::cni {

namespace {

Result<SweepLine> release_orphan(const Record& record, SweepLine line, World& world) {
  line.why = "another process has changed it meanwhile";
  const bool done = TRY(release_if(record, world, [&]() -> Result<bool> {
    const HoldResult now = TRY(find_hold(record, world));
    line.why = now.why;
    return now.hold == Hold::orphaned;
  }));
  line.action = done ? SweepAction::released : SweepAction::kept;
  return line;
}

Result<SweepLine> sweep_record(const Record& record, SweepLine line, World& world,
                               const SweepOptions& options) {
  const HoldResult result = TRY(find_hold(record, world));
  line.why = result.why;
  if (result.hold != Hold::orphaned) return line;
  if (!options.dry_run) return release_orphan(record, std::move(line), world);
  if (world.store.is_locked(record)) {
    line.why = "an ADD or DEL is at work on it";
    return line;
  }
  line.action = SweepAction::released;
  return line;
}

Result<SweepLine> sweep_unreadable(const AttachmentName& name, const Error& unreadable, World& world,
                                   const SweepOptions& options) {
  SweepLine line{
      SweepAction::removed, "record of " + name.ifname + " of container " + name.container_id,
      unreadable.text + "; kept for you as \"" + name.container_id + ":" + name.ifname + ".corrupt\""};
  if (options.dry_run || TRY(quarantine_unreadable(name, world))) return line;
  line.action = SweepAction::kept;
  line.why = "another process has replaced it meanwhile";
  return line;
}

void sweep_records(World& world, const SweepOptions& options, const std::vector<AttachmentName>& names,
                   SweepReport& report) {
  for (const AttachmentName& name : names) {
    SweepLine line{SweepAction::kept, line_subject("record", name, ""), ""};
    const auto one = [&]() -> Result<std::optional<SweepLine>> {
      const auto record = world.store.load(name);
      if (!record && record.error().code == Errc::protocol)
        return std::optional(TRY(sweep_unreadable(name, record.error(), world, options)));
      if (!record) return record.error();
      if (!*record) return std::optional<SweepLine>();  // released since it was listed
      line.what = line_subject((*record)->device_key, name, (*record)->network);
      return std::optional(TRY(sweep_record(**record, line, world, options)));
    };
    auto swept = one();
    if (!swept) {
      line.action = SweepAction::failed;
      line.why = swept.error().text_with_id();
    } else if (*swept) {
      line = std::move(**swept);
    } else {
      continue;
    }
    report.lines.push_back(std::move(line));
  }
}

// What another process removes meanwhile, for which `remove` answers false, gets no line.
void sweep_file(const SweepOptions& options, SweepReport& report, std::string what, const char* why,
                const std::function<Result<bool>()>& remove) {
  SweepLine line{SweepAction::removed, std::move(what), why};
  const auto removed = options.dry_run ? Result<bool>(true) : remove();
  if (removed.ok() && !*removed) return;
  if (!removed.ok()) {
    line.action = SweepAction::failed;
    line.why = removed.error().text_with_id();
  }
  report.lines.push_back(std::move(line));
}

Result<> sweep_leftovers(World& world, const SweepOptions& options, SweepReport& report) {
  for (const std::string& path : TRY(world.store.leftovers())) {
    sweep_file(options, report, path, "a killed process has left it",
               [&] { return world.store.remove_leftover(path); });
  }
  return {};
}

void sweep_pod_folders(World& world, const SweepOptions& options, SweepReport& report) {
  const auto abandoned = abandoned_pod_folders(world);
  if (!abandoned) {
    report.lines.push_back({SweepAction::failed, "files of pods", abandoned.error().text_with_id()});
    return;
  }
  for (const std::string& container_id : *abandoned) {
    sweep_file(options, report, "files of container " + container_id, "it has no attachment any more",
               [&] { return remove_abandoned_pod_folder(container_id, world); });
  }
}

const char* action_text(SweepAction action, bool dry_run) {
  switch (action) {
    case SweepAction::kept:
      return "kept";
    case SweepAction::released:
      return dry_run ? "would be released" : "released";
    case SweepAction::removed:
      return dry_run ? "would be removed" : "removed";
    case SweepAction::restored:
      return dry_run ? "would be restored" : "restored";
    case SweepAction::adopted:
      return dry_run ? "would be taken over" : "taken over";
    case SweepAction::failed:
      return "failed";
  }
  return "?";
}

}  // namespace

std::string line_subject(const std::string& device, const AttachmentName& name, const std::string& network) {
  return device + " (" + name.ifname + " of container " + name.container_id +
         (network.empty() ? "" : ", network " + network) + ")";
}

bool SweepReport::all_well() const {
  return std::none_of(lines.begin(), lines.end(),
                      [](const SweepLine& line) { return line.action == SweepAction::failed; });
}

std::string SweepReport::text() const {
  std::string out;
  for (const SweepLine& line : lines) {
    out +=
        std::string(action_text(line.action, dry_run)) + ": " + escaped(line.what + ": " + line.why) + "\n";
  }
  std::string counts;
  for (const auto action : {SweepAction::kept, SweepAction::released, SweepAction::removed,
                            SweepAction::restored, SweepAction::adopted, SweepAction::failed}) {
    const auto count = std::count_if(lines.begin(), lines.end(),
                                     [=](const SweepLine& line) { return line.action == action; });
    if (count > 0)
      counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + action_text(action, dry_run);
  }
  return out + (counts.empty() ? "nothing to do" : counts) + "\n";
}

Result<SweepReport> sweep(World& world, const SweepOptions& options) {
  SweepReport report;
  report.dry_run = options.dry_run;
  const auto names = TRY(world.store.list());
  sweep_records(world, options, names, report);
  TRY(sweep_leftovers(world, options, report));
  sweep_pod_folders(world, options, report);
  TRY(sweep_baselines(world, options, report));
  TRY(sweep_others(world, options, report));
  return report;
}

}  // namespace vfrail::cni
