#include "plugin/admin/advise/jobs.h"

#include <utility>

namespace vfrail::plugin {

namespace {

constexpr int kNodes = 2;
constexpr const char* kRayImage = "registry.example.com/ray-rdma:1";
constexpr const char* kRayVersion = "2.49.1";  // of that image
constexpr const char* kNcclTestsImage = "registry.example.com/nccl-tests:1";

// A program that needs no file of the user's, and fails where the ranks do not reach each other.
constexpr const char* kAllReduce =
    "cat > /tmp/all_reduce.py <<'END'\n"
    "import os, torch, torch.distributed as dist\n"
    "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\n"
    "dist.init_process_group(\"nccl\")\n"
    "data = torch.ones(1 << 28, device=\"cuda\")\n"
    "dist.all_reduce(data)\n"
    "torch.cuda.synchronize()\n"
    "print(\"rank\", dist.get_rank(), \"sum\", data[0].item(), \"of\", dist.get_world_size())\n"
    "END\n";

std::vector<std::string> torchrun(const PodNeeds& needs, const std::string& rendezvous) {
  return {"sh", "-c",
          std::string(kAllReduce) + "exec torchrun --nproc-per-node=" + std::to_string(needs.gpus) +
              rendezvous + " /tmp/all_reduce.py\n"};
}

// What Kubeflow's operator and Volcano's plugin "pytorch" set.
constexpr const char* kByVariables =
    " --nnodes=\"$WORLD_SIZE\" --node-rank=\"$RANK\" --master-addr=\"$MASTER_ADDR\" "
    "--master-port=\"$MASTER_PORT\"";

Json object_of(const char* api, const char* kind, const std::string& name, Json spec) {
  return Json::object()
      .set("apiVersion", api)
      .set("kind", kind)
      .set("metadata", Json::object().set("name", name))
      .set("spec", std::move(spec));
}

std::vector<Json> make_pod(const PodNeeds& needs) {
  Json pod = pod_template(needs, {"test", kToolsImage, {"sleep", "infinity"}});
  Json out = object_of("v1", "Pod", "rdma-test", *pod.find("spec"));
  if (const Json* metadata = pod.find("metadata"))
    out.set("metadata",
            Json::object().set("name", "rdma-test").set("annotations", *metadata->find("annotations")));
  return {std::move(out)};
}

std::vector<Json> make_pytorch_job(const PodNeeds& needs) {
  Json replicas = Json::object();
  for (const char* role : {"Master", "Worker"}) {
    // The training operator wants this name.
    replicas.set(
        role,
        Json::object()
            .set("replicas", 1)
            .set("restartPolicy", "OnFailure")
            .set("template", pod_template(needs, {"pytorch", kTorchImage, torchrun(needs, kByVariables)})));
  }
  return {object_of("kubeflow.org/v1", "PyTorchJob", "rdma-test",
                    Json::object().set("pytorchReplicaSpecs", std::move(replicas)))};
}

Json training_runtime(const PodNeeds& needs) {
  // Trainer wants this name, and the label on the template of the job.
  Json job = Json::object();
  job.set("metadata",
          Json::object().set("labels",
                             Json::object().set("trainer.kubeflow.org/trainjob-ancestor-step", "trainer")));
  job.set("spec", Json::object().set("template", pod_template(needs, {"node", kTorchImage, {}})));
  Json jobs = Json::array();
  jobs.push(Json::object().set("name", "node").set("template", std::move(job)));
  Json spec = Json::object();
  spec.set("mlPolicy", Json::object().set("numNodes", kNodes).set("torch", Json::object()));
  spec.set("template", Json::object().set("spec", Json::object().set("replicatedJobs", std::move(jobs))));
  Json out = object_of("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "rdma-test", std::move(spec));
  out.set("metadata", Json::object()
                          .set("name", "rdma-test")
                          .set("labels", Json::object().set("trainer.kubeflow.org/framework", "torch")));
  return out;
}

std::vector<Json> make_train_job(const PodNeeds& needs) {
  Json runtime = Json::object();
  runtime.set("apiGroup", "trainer.kubeflow.org").set("kind", "TrainingRuntime").set("name", "rdma-test");
  Json spec = Json::object();
  spec.set("runtimeRef", std::move(runtime));
  // torchrun reads the number of nodes and the address of the first from variables that Trainer sets.
  spec.set("trainer", Json::object().set("numNodes", kNodes).set("command", Json(torchrun(needs, ""))));
  return {training_runtime(needs),
          object_of("trainer.kubeflow.org/v1alpha1", "TrainJob", "rdma-test", std::move(spec))};
}

// Variables of the container do not reach ranks that SSH starts, so they are given with -x. NCCL_NET=IB: an
// error in place of TCP if there is no RDMA.
std::vector<std::string> mpirun_args(const PodNeeds& needs) {
  std::vector<std::string> out = {"--allow-run-as-root", "-np", std::to_string(kNodes * int(needs.gpus)),
                                  "--bind-to", "none"};
  for (const char* variable : {"NCCL_DEBUG=INFO", "NCCL_NET=IB", "NCCL_SOCKET_IFNAME=eth0"}) {
    if (needs.host_network && std::string_view(variable).ends_with("eth0")) continue;
    out.insert(out.end(), {"-x", variable});
  }
  if (!needs.host_network) out.insert(out.end(), {"--mca", "btl_tcp_if_include", "eth0"});
  out.insert(out.end(),
             {"/opt/nccl-tests/build/all_reduce_perf", "-b", "8M", "-e", "8G", "-f", "2", "-g", "1"});
  return out;
}

std::vector<Json> make_mpi_job(const PodNeeds& needs) {
  Json replicas = Json::object();
  replicas.set("Launcher", Json::object()
                               .set("replicas", 1)
                               .set("template", bare_template({"launcher", kNcclTestsImage, {"mpirun"}},
                                                              mpirun_args(needs))));
  replicas.set(
      "Worker",
      Json::object()
          .set("replicas", kNodes)
          .set("template", pod_template(needs, {"worker", kNcclTestsImage, {"/usr/sbin/sshd", "-De"}})));
  Json spec = Json::object();
  spec.set("slotsPerWorker", needs.gpus).set("runPolicy", Json::object().set("cleanPodPolicy", "Running"));
  spec.set("mpiReplicaSpecs", std::move(replicas));
  return {object_of("kubeflow.org/v2beta1", "MPIJob", "rdma-test", std::move(spec))};
}

std::vector<Json> make_ray_cluster(const PodNeeds& needs) {
  Json head = Json::object();
  head.set("rayStartParams", Json::object().set("num-gpus", "0"));
  head.set("template", bare_template({"ray-head", kRayImage, {}}, {}));
  Json group = Json::object();
  group.set("groupName", "rdma")
      .set("replicas", kNodes)
      .set("minReplicas", kNodes)
      .set("maxReplicas", kNodes);
  group.set("rayStartParams", Json::object());
  group.set("template", pod_template(needs, {"ray-worker", kRayImage, {}}));
  Json groups = Json::array();
  groups.push(std::move(group));
  Json spec = Json::object();
  spec.set("rayVersion", kRayVersion).set("headGroupSpec", std::move(head));
  spec.set("workerGroupSpecs", std::move(groups));
  return {object_of("ray.io/v1", "RayCluster", "rdma-test", std::move(spec))};
}

std::vector<Json> make_leader_worker_set(const PodNeeds& needs) {
  const auto command = torchrun(needs,
                                " --nnodes=\"$LWS_GROUP_SIZE\" --node-rank=\"$LWS_WORKER_INDEX\" "
                                "--master-addr=\"$LWS_LEADER_ADDRESS\" --master-port=29500");
  Json pair = Json::object();
  pair.set("size", kNodes).set("restartPolicy", "RecreateGroupOnPodRestart");
  pair.set("leaderTemplate", pod_template(needs, {"leader", kTorchImage, command}));
  pair.set("workerTemplate", pod_template(needs, {"worker", kTorchImage, command}));
  return {object_of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "rdma-test",
                    Json::object().set("replicas", 1).set("leaderWorkerTemplate", std::move(pair)))};
}

std::vector<Json> make_volcano_job(const PodNeeds& needs) {
  Json tasks = Json::array();
  for (const char* role : {"master", "worker"}) {
    Json pod = pod_template(needs, {role, kTorchImage, torchrun(needs, kByVariables)});
    with_spec(pod, "restartPolicy", "Never");
    Json task = Json::object();
    task.set("name", role).set("replicas", 1).set("template", std::move(pod));
    tasks.push(std::move(task));
  }
  Json plugins = Json::object();
  plugins.set("pytorch",
              Json(std::vector<std::string>{"--master=master", "--worker=worker", "--port=23456"}));
  plugins.set("svc", Json::array());
  Json spec = Json::object();
  // Both pods start, or none does.
  spec.set("schedulerName", "volcano").set("queue", "default").set("minAvailable", kNodes);
  spec.set("plugins", std::move(plugins)).set("tasks", std::move(tasks));
  return {object_of("batch.volcano.sh/v1alpha1", "Job", "rdma-test", std::move(spec))};
}

}  // namespace

const std::vector<JobKind>& job_kinds() {
  static const std::vector<JobKind> kKinds = {
      {"pod", "A pod", make_pod, false},
      {"pytorch-job", "A PyTorchJob (Kubeflow Training Operator v1) of two pods", make_pytorch_job, true},
      {"train-job", "A TrainJob (Kubeflow Trainer v2) of two nodes, with its runtime", make_train_job, true},
      {"mpi-job", "An MPIJob (mpi-operator v2beta1) that runs nccl-tests on two nodes", make_mpi_job, true},
      {"ray-cluster", "A RayCluster (KubeRay) with two workers", make_ray_cluster, false},
      {"leader-worker-set", "A LeaderWorkerSet of two pods", make_leader_worker_set, true},
      {"volcano-job", "A Volcano Job of two pods", make_volcano_job, true},
  };
  return kKinds;
}

}  // namespace vfrail::plugin
