// `vfrail-cni sweep`: reconciles the records with the existing devices and namespaces, for runtimes that
// never ask (Multus forwards neither GC nor, sometimes, DEL). It runs concurrently with ADDs and DELs: it
// decides on each device under its lock.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

struct SweepOptions {
  bool dry_run = false;       // nothing is changed
  bool adopt = false;         // attachments of other plugins get a record of vfrail (cni/sweep/adopt.h)
  std::string cni_path = {};  // where the IPAM plugins of adopted attachments are; no cache has it
};

enum class SweepAction : uint8_t { kept, released, removed, restored, adopted, failed };

struct SweepLine {
  SweepAction action = SweepAction::kept;
  std::string what;  // the attachment or file: "0000:03:02.1 (net1 of container c1, network rail0)"
  std::string why;
};

struct SweepReport {
  bool dry_run = false;
  std::vector<SweepLine> lines;

  bool all_well() const;
  // One line for each, and the counts.
  std::string text() const;
};

// How a line names an attachment, in `what`.
std::string line_subject(const std::string& device, const AttachmentName& name, const std::string& network);

// The part of a sweep about unclean devices and void baselines (cni/baseline/baseline.h), and about names
// that devices have lost (cni/steps/name_step.h).
Result<> sweep_baselines(World& world, const SweepOptions& options, SweepReport& report);

// An error is about the sweep as a whole; a failure of one attachment is a line.
Result<SweepReport> sweep(World& world, const SweepOptions& options);

}  // namespace vfrail::cni
