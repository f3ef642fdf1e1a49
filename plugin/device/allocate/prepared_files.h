// PreparedFiles, written and removed: the CDI specs, device-info files, AllocatedNodes and AllocatedUnits of
// what allocate_containers() has worked out. Decides nothing about devices.
#pragma once

#include "common/container/container_edits.h"
#include "common/result.h"
#include "plugin/device/allocate/allocated_part.h"
#include "plugin/device/allocate/prepared_record.h"

#include <vector>

namespace vfrail::plugin {

// What will be written, so that a record can name it before.
Result<PreparedFiles> files_of(const std::vector<AllocatedContainer>& containers,
                               const AllocatePlaces& places);
// The edits of each container. An error has left no new file.
Result<std::vector<ContainerEdits>> write_prepared_files(const std::vector<AllocatedContainer>& containers,
                                                         const AllocatePlaces& places);
// The same of what was written before and may be in use: a file with the same content is not touched, and an
// error removes none.
Result<std::vector<ContainerEdits>> renew_prepared_files(const std::vector<AllocatedContainer>& containers,
                                                         const AllocatePlaces& places);
// All that it can; the first failure.
Result<> remove_prepared_files(const PreparedFiles& files, const AllocatePlaces& places);

}  // namespace vfrail::plugin
