# syntax=docker/dockerfile:1
# The image of nccl-tests-job.yaml: NVIDIA's nccl-tests with Open MPI, and an SSH server by which mpi-operator starts ranks.
#   docker build -f examples/nccl-tests.Dockerfile -t registry.example.com/nccl-tests:1 .
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates git libopenmpi-dev openmpi-bin openssh-client openssh-server \
      ibverbs-providers ibverbs-utils \
    && rm -rf /var/lib/apt/lists/*
# The base image has libnccl2 and libnccl-dev.
RUN git clone --depth 1 https://github.com/NVIDIA/nccl-tests.git /opt/nccl-tests \
    && make -C /opt/nccl-tests -j"$(nproc)" MPI=1 MPI_HOME=/usr/lib/x86_64-linux-gnu/openmpi
# Pods come and go, so their keys are not known before; mpi-operator mounts the key files with a mode that sshd finds too wide.
RUN mkdir -p /run/sshd \
    && echo 'StrictModes no' >> /etc/ssh/sshd_config \
    && printf 'Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n' >> /etc/ssh/ssh_config
