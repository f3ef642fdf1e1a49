// The rows of the commands that advise (plan, example, compare), with their options.
#include "common/node/sys_root.h"
#include "plugin/admin/advise/compare.h"
#include "plugin/admin/advise/compare_command.h"
#include "plugin/admin/advise/example_command.h"
#include "plugin/admin/advise/jobs.h"
#include "plugin/admin/commands.h"
#include "plugin/admin/plan/plan_command.h"
#include "plugin/admin/report/scan_root.h"

#include <CLI/CLI.hpp>

namespace vfrail::plugin {

namespace {

void define_plan(CLI::App* plan, PlanOptions& options) {
  plan->add_option_function<std::string>(
          "-o,--output",
          [&options](const std::string& word) {
            options.output = word == "json"     ? PlanOutput::json
                             : word == "config" ? PlanOutput::config
                                                : PlanOutput::text;
          },
          "Output format; config: the recommended configuration alone, as serve, the chart and the ConfigMap "
          "take it")
      ->check(CLI::IsMember({"text", "json", "config"}))
      ->option_text("text|json|config");
  plan->add_option("--config-file", options.config_file,
                   "A configuration to compare with; by default that of serve, '' for none")
      ->type_name("FILE");
  plan->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix")
      ->type_name("PREFIX");
  plan->add_option("--name", options.name, "Name of the resource, in place of one of fabric and speed")
      ->type_name("NAME");
  plan->add_option(
          "--root", options.roots,
          "Read sys, proc and dev below this folder; several, a node each: one configuration for all "
          "of them")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("DIR")
      ->transform(normal_root);
  plan->final_callback([plan, &options] {
    if (options.roots.size() < 2)
      default_to_own_config(*plan, options.roots.empty() ? default_root() : options.roots.front(),
                            options.config_file);
  });
}

void define_example(CLI::App* example, ExampleOptions& options) {
  options.root = default_root();
  example
      ->add_option("--resource", options.request.resource,
                   "The resource: rdma/ib_pf; with *, a unit of each that matches")
      ->required()
      ->type_name("RESOURCE");
  std::vector<std::string> kinds;
  std::string choices;
  for (const JobKind& kind : job_kinds()) {
    kinds.emplace_back(kind.name);
    choices += (choices.empty() ? "" : "|") + kinds.back();
  }
  example->add_option("--kind", options.request.kind, "What to print")
      ->check(CLI::IsMember(kinds))
      ->option_text(choices);
  example
      ->add_option("--gpus", options.request.gpus,
                   "GPUs of each pod; a job whose program needs one has at least 1")
      ->check(CLI::Range(0, 64))
      ->option_text("NUMBER");
  example->add_flag("--claim", options.request.claim,
                    "By a ResourceClaim, with GPUs and devices below one PCIe root (DRA, Kubernetes 1.34)");
  example
      ->add_option(
          "--network", options.request.networks,
          "A network of the resource, for a unit of the pod each (may be repeated); by default those that "
          "are printed with it, where the resource needs them")
      ->allow_extra_args(false)
      ->take_all()
      ->option_text("[NAMESPACE/]NAME");
  example
      ->add_option("--config-file", options.config_file,
                   "The configuration; by default that of serve; - is stdin")
      ->type_name("FILE");
  example->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix")
      ->type_name("PREFIX");
  example
      ->add_option(
          "--root", options.root,
          "A node that the pod can run on: sys, proc and dev below this folder say which devices belong "
          "to its GPUs")
      ->type_name("DIR")
      ->transform(normal_root);
  example->final_callback([&options] {
    if (options.config_file.empty()) options.config_file = own_config_file();
  });
}

void define_compare(CLI::App* compare, CompareOptions& options) {
  options.root = default_root();
  std::vector<std::string> names;
  std::string choices;
  for (const ComparedPlugin& plugin : compared_plugins()) {
    names.emplace_back(plugin.name);
    choices += (choices.empty() ? "" : "|") + names.back();
    names.emplace_back(plugin.project);
  }
  compare
      ->add_option("--from", options.from,
                   "Whose configuration it is, also by the project's name; by default what its keys say")
      ->check(CLI::IsMember(names))
      ->option_text(choices);
  compare->add_option("FILE", options.file, "The file, as it is or as objects of Kubernetes; - is stdin")
      ->required()
      ->option_text(" ");
  compare->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix")
      ->type_name("PREFIX");
  compare->add_option("--root", options.root, "Read sys, proc and dev below this folder")
      ->type_name("DIR")
      ->transform(normal_root);
}

}  // namespace

void add_advise_commands(Commands& commands) {
  commands.add<PlanOptions>(
      {"plan",
       "Show the ways to give this node's RDMA devices to pods, what each takes, and the recommended one",
       define_plan, plan});
  commands.add<ExampleOptions>(
      {"example", "Print a pod or job, in YAML, that works with a resource of the configuration",
       define_example, example});
  commands.add<CompareOptions>(
      {"compare",
       "Show what another device plugin selects on this node with its configuration, and what vfrail selects",
       define_compare, [](const CompareOptions& options) { return compare(options); }});
}

}  // namespace vfrail::plugin
