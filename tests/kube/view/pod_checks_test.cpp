// plugin/kube/view/pod_checks.h: which pods are checked, and what is said of them.
#include "plugin/kube/view/pod_checks.h"

#include "tests/kube/view/made_cluster.h"

#include <mutex>
#include <set>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

constexpr const char* kRunning = R"({"phase": "Running"})";

Json with_container(Json pod) {
  Json spec = *pod.find("spec");
  Json sidecar = json_of(R"({"name": "sidecar"})");
  Json trainer = spec.find("containers")->as_array()->front();
  trainer.set("name", "trainer");
  spec.set("containers", Json::array().push(std::move(sidecar)).push(std::move(trainer)));
  pod.set("spec", std::move(spec));
  return pod;
}

// Pods are listed with one label alone.
OpenReader pods_with(const std::string& label, std::vector<Json> pods) {
  return [=] {
    return ClusterReader{
        .list = [=](const ResourceType&, const Selectors& selectors, const ClusterReader::Each& each,
                    const std::function<void()>&) -> Result<> {
          if (selectors.labels == label) {
            for (const Json& pod : pods) each(Json(pod));
          }
          return {};
        },
        .page = {}};
  };
}

Result<PodOutput> fault(const PodCommand&) {
  return PodOutput{
      R"({"checks": [{"id": "VF-P07", "name": "memlock", "finding": "fault", "text": "64 KiB", "remedy": "more"}]})",
      "", 1};
}

}  // namespace

TEST_CASE("the pods of a job that run are checked, in the container that has the device") {
  std::mutex mutex;
  std::set<std::string> ran;
  const auto run = [&](const PodCommand& command) {
    const std::lock_guard lock(mutex);
    ran.insert(command.pod.text() + " " + command.container + " " + command.words.front());
    return fault(command);
  };
  const auto open = pods_with(
      "training.kubeflow.org/job-name=bert",
      {with_container(pod_object("w0", "n", 1, kRunning)), with_container(pod_object("w1", "n", 1, kRunning)),
       with_container(pod_object("w2", "", 1, R"({"phase": "Pending"})"))});
  const ViewAnswer answer = show_pod_checks(open, run, {.name_space = "train", .job = "bert"}, {});
  CHECK(ran == std::set<std::string>{"train/w0 trainer /usr/local/bin/vfrail-check",
                                     "train/w1 trainer /usr/local/bin/vfrail-check"});
  CHECK(answer.code == 1);
  CHECK_THAT(answer.text, Contains("VF-P07") && Contains("2 pods") && Contains("w0 w1: 64 KiB"));
}

TEST_CASE("a pod without vfrail-check is a gap, with what to set") {
  const auto run = [](const PodCommand& command) -> Result<PodOutput> {
    if (command.pod.name == "w0") return PodOutput{R"({"checks": []})", "", 0};
    return Error{Errc::peer, 0, "no such file or directory"};
  };
  const auto open = pods_with("", {pod_object("w0", "n", 1, kRunning), pod_object("w1", "n", 1, kRunning)});
  const ViewAnswer answer = show_pod_checks(open, run, {.name_space = "train"}, {});
  CHECK(answer.code == 0);
  CHECK_THAT(answer.text, Contains("1 pod checked") && Contains("w1") && Contains("mountCheck"));
}

TEST_CASE("no pod that runs with a device is said, and is no success") {
  const ViewAnswer answer =
      show_pod_checks(pods_with("a=b", {}), fault, {.name_space = "train", .labels = "a=b"}, {});
  CHECK(answer.code == 1);
  CHECK_THAT(answer.text, Contains("no pod with labels a=b in namespace train"));
}

TEST_CASE("for programs the checks of pods name pods") {
  ViewOptions options;
  options.output = ViewOptions::Output::json;
  const auto open = pods_with("", {pod_object("w0", "n", 1, kRunning)});
  const Json json = json_of(show_pod_checks(open, fault, {.name_space = "train"}, options).text);
  CHECK(*json.find("pods_checked")->as_int() == 1);
  CHECK(json.find("checks")
            ->as_array()
            ->front()
            .find("findings")
            ->as_array()
            ->front()
            .find("pods")
            ->as_array()
            ->size() == 1);
}
