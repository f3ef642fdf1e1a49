// The state folder of vfrail-cni, with one more attachment, as RecordStore writes it.
#pragma once

#include "common/node/attachments.h"

namespace vfrail::test {

void write_attachment(const Attachments& attachments, const Record& record);

}  // namespace vfrail::test
