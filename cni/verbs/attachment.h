// What every verb does first with the name of an attachment: takes its lock, and puts a record that cannot be
// read out of the way.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <string>

namespace vfrail::cni {

// The lock that every verb of this name takes (RecordStore). `verb` is for the error of those who wait for
// it.
Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb, World& world);

// Quarantines the record, which cannot be read, so that it blocks nothing; its devices are unclean until they
// have been compared with their baseline. Under the lock of the attachment, or of its device.
Result<> quarantine(const AttachmentName& name, World& world);

// Takes the attachment's lock, and quarantines its record if that cannot be read. False: it can be read.
Result<bool> quarantine_unreadable(const AttachmentName& name, World& world);

}  // namespace vfrail::cni
