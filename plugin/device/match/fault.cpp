#include "plugin/device/match/fault.h"

namespace vfrail::plugin {

const char* name_of(FaultCode code) {
  switch (code) {
    case FaultCode::none:
      break;
    case FaultCode::port_down:
      return "port_down";
    case FaultCode::admin_down:
      return "admin_down";
    case FaultCode::no_carrier:
      return "no_carrier";
    case FaultCode::unclean:
      return "unclean";
    case FaultCode::guid_unset:
      return "guid_unset";
    case FaultCode::devlink_error:
      return "devlink_error";
    case FaultCode::provisioning:
      return "provisioning";
    case FaultCode::claimed:
      return "claimed";
    case FaultCode::gone:
      return "gone";
    case FaultCode::not_selected:
      return "not_selected";
  }
  return "";
}

ErrorId id_of(FaultCode code) {
  switch (code) {
    case FaultCode::none:
      break;
    case FaultCode::port_down:
      return ErrorId::port_down;
    case FaultCode::admin_down:
      return ErrorId::admin_down;
    case FaultCode::no_carrier:
      return ErrorId::no_carrier;
    case FaultCode::unclean:
      return ErrorId::device_unclean;
    case FaultCode::guid_unset:
      return ErrorId::guid_unset;
    case FaultCode::devlink_error:
      return ErrorId::devlink_error;
    case FaultCode::provisioning:
      return ErrorId::provision_pending;
    case FaultCode::claimed:
      return ErrorId::device_in_use;
    case FaultCode::gone:
      return ErrorId::device_gone;
    case FaultCode::not_selected:
      return ErrorId::no_longer_selected;
  }
  return ErrorId::device_not_read;
}

}  // namespace vfrail::plugin
