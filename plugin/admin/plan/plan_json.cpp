// The plan for programs; plugin/admin/report/schema.json has its form.
#include "common/text.h"
#include "plugin/admin/plan/dra_advice.h"
#include "plugin/admin/plan/render_plan.h"
#include "plugin/admin/report/report.h"

namespace vfrail::plugin {

namespace {

Json ids_json(const Way& way) {
  Json out = Json::array();
  for (const PoolDevice* device : way.devices()) out.push(device->id());
  return out;
}

Json steps_json(const std::vector<Step>& steps) {
  Json out = Json::array();
  for (const Step& step : steps)
    out.push(Json::object()
                 .set("name", step.name)
                 .set("text", step.text)
                 .set("command", step.command)
                 .set("optional", step.optional));
  return out;
}

Json shares_json(const FabricPlan& fabric, const Way& way, size_t gpus) {
  Json out = Json::array();
  for (const GpuShare& share : shares_of(fabric, way, gpus))
    out.push(Json::object()
                 .set("gpus", static_cast<int64_t>(share.gpus))
                 .set("cards", static_cast<int64_t>(share.cards))
                 .set("pods", static_cast<int64_t>(share.pods))
                 .set("shared", share.shared));
  return out;
}

Json way_json(const FabricPlan& fabric, const Way& way, size_t gpus) {
  Json out = Json::object();
  out.set("way", name_of(way.kind)).set("resource", way.resource);
  out.set("devices", ids_json(way)).set("pods_now", static_cast<int64_t>(way.pods_now));
  out.set("pods", way.pods).set("isolation", way.isolation).set("own_address", way.address);
  out.set("gpudirect", way.gpu_direct).set("takes", steps_json(way.takes)).set("configuration", way.config);
  out.set("pods_of_gpus", shares_json(fabric, way, gpus));
  return out;
}

Json fabric_json(const FabricPlan& fabric, size_t gpus) {
  Json ways = Json::array();
  for (const Way& way : fabric.ways) ways.push(way_json(fabric, way, gpus));
  Json rails = Json::array();
  for (const Rail& rail : fabric.group.rails) rails.push(rail.address.text());
  Json speed;
  if (fabric.group.speed_mbps) speed = Json(*fabric.group.speed_mbps);
  Json far;
  if (fabric.group.gpu) far = Json(word(*fabric.group.gpu));
  return Json::object()
      .set("fabric", name_of(fabric.fabric))
      .set("speed_mbps", std::move(speed))
      .set("gpu_distance", std::move(far))
      .set("rails", std::move(rails))
      .set("ways", std::move(ways))
      .set("recommended", name_of(fabric.recommended))
      .set("why", fabric.why)
      .set("later", fabric.later);
}

Json others_json(const Plan& plan) {
  Json out = Json::array();
  for (const OtherCard& other : plan.others)
    out.push(Json::object().set("id", other.id).set("device", other.device).set("why", other.why));
  return out;
}

Json not_offered_json(const Plan& plan) {
  Json out = Json::array();
  for (const NotOffered& one : plan.not_offered)
    out.push(Json::object().set("device", one.device).set("why", one.why).set("id", id_text(one.id)));
  return out;
}

Json configured_json(const Plan& plan) {
  Json out = Json::array();
  for (const ConfiguredResource& one : plan.configured)
    out.push(Json::object()
                 .set("resource", one.resource)
                 .set("units", static_cast<int64_t>(one.units))
                 .set("healthy_units", static_cast<int64_t>(one.healthy_units))
                 .set("devices", Json(one.devices))
                 .set("differences", Json(one.differences)));
  return out;
}

Json errors_json(const Plan& plan) {
  Json out = Json::array();
  for (const ExpectedError& error : plan.errors)
    out.push(
        Json::object().set("message", error.message).set("cause", error.cause).set("remedy", error.remedy));
  return out;
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json fabrics = Json::array();
  for (const FabricPlan& fabric : plan.fabrics)
    fabrics.push(fabric_json(fabric, plan.facts.inventory.gpus.size()));
  return Json::object()
      .set("schema_version", kSchemaVersion)
      .set("fabrics", std::move(fabrics))
      .set("others", others_json(plan))
      .set("not_offered", not_offered_json(plan))
      .set("configured", configured_json(plan))
      .set("expected_errors", errors_json(plan))
      .set("configuration", plan.config)
      .set("dra_advice", advise_dra(plan));
}

}  // namespace vfrail::plugin
