// DraFrontEnd: the publishers of a node whose devices go by dynamic resource allocation, and what they share:
// the scheduler by vfrail-kube, kubelet's claims, and the status of claims.
#pragma once

#include "plugin/dra/agent_client.h"
#include "plugin/dra/shared_switch.h"
#include "plugin/service/dra/dra_publisher.h"
#include "plugin/service/dra/offer_publisher.h"
#include "plugin/service/dra/status_publisher.h"
#include "plugin/service/serve.h"

namespace vfrail::plugin {

struct DraFrontEnd {
  DraFrontEnd(const ServeOptions& options, const AllocatePlaces& places, Counters& counters, Log& log)
      : agent(options.dra_socket),
        shared(options.run_dir, log),
        offer({.offer = {.driver = options.dra_driver,
                         .for_dranet = options.dra_for_dranet,
                         .lanes = options.dra_lanes,
                         .root_of_data_direct = options.dra_data_direct},
               .socket = options.dra_socket,
               .run_dir = options.run_dir,
               .instance = options.dra_instance,
               .drain = options.dra_drain,
               .sys = places.sys},
              shared, log),
        claims({.kubelet_root = options.kubelet_root,
                .driver = options.dra_driver,
                .instance = options.dra_instance,
                .places = places,
                .by_claims = [this](const ResourceConfig& one) { return offer.by_claims(one); },
                .lanes = options.dra_lanes,
                .for_dranet = options.dra_for_dranet,
                .root_of_data_direct = options.dra_data_direct,
                .node_pool = [this] { return offer.node_pool(); },
                .chained = options.dra_chained,
                .counters = &counters},
               agent, log),
        statuses({.driver = options.dra_driver, .places = places}, agent, log) {}

  AgentClient agent;
  SharedSwitch shared;
  OfferPublisher offer;
  DraPublisher claims;
  StatusPublisher statuses;
};

}  // namespace vfrail::plugin
