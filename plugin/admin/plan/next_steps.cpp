#include "plugin/admin/plan/next_steps.h"

namespace vfrail::plugin {

namespace {

std::string quoted(const std::string& word) {
  return word.find_first_of("*? '\"$\\&;|<>()") == std::string::npos ? word : "'" + word + "'";
}

}  // namespace

std::string next_steps(const std::vector<NextPod>& pods, const std::vector<std::string>& roots) {
  std::string from;
  for (const std::string& root : roots) from += " --root " + quoted(root);
  std::string out =
      "  vfrail plan" + from + " -o config > config.json\n" +
      "  vfrail check-config config.json\n"
      "  # into the cluster, with Helm:\n"
      "  helm upgrade --install vfrail manifests/chart -n kube-system --set image.registry=REGISTRY "
      "--set-file config=config.json\n"
      "  # or with kustomize:\n"
      "  kubectl -n kube-system create configmap vfrail-config --from-file=config.json "
      "--dry-run=client -o yaml > manifests/configmap.yaml\n"
      "  kubectl apply -k manifests/\n"
      "  # then a pod, with its network and its test:\n";
  for (const NextPod& pod : pods)
    out += "  vfrail example --config-file config.json" +
           (pod.root.empty() ? std::string() : " --root " + quoted(pod.root)) + " --resource " +
           quoted(pod.resource) + (pod.gpus > 0 ? " --gpus " + std::to_string(pod.gpus) : "") + "\n";
  return out;
}

}  // namespace vfrail::plugin
