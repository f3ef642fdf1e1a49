# syntax=docker/dockerfile:1
# The image of raycluster.yaml: Ray's image for language models with the drivers of libibverbs, without which NCCL uses TCP.
#   docker build -f examples/ray.Dockerfile -t registry.example.com/ray-rdma:1 .
FROM rayproject/ray-llm:2.49.1-py311-cu128
USER root
RUN apt-get update && apt-get install -y --no-install-recommends ibverbs-providers ibverbs-utils \
    && rm -rf /var/lib/apt/lists/*
USER ray
