#include "tests/support/write_attachment.h"

#include <filesystem>
#include <fstream>

namespace vfrail::test {

namespace fs = std::filesystem;

void write_attachment(const Attachments& attachments, const Record& record) {
  for (const char* folder : {"/attachments", "/devices"})
    fs::create_directories(attachments.folder() + folder);
  std::ofstream(attachments.record_path(record.attachment)) << format_record(record);
  fs::remove(attachments.owner_path(record.device_key));
  fs::create_symlink(record.attachment.text(), attachments.owner_path(record.device_key));
}

}  // namespace vfrail::test
