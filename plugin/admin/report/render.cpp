#include "plugin/admin/report/render.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/device/config/formats/file.h"
#include "plugin/documents/network.h"

#include <vector>

namespace vfrail::plugin {

namespace {

Result<std::string> render_file(const RenderOptions& options) {
  const std::string file = shown_file(options.file);
  const auto documents = TRY(read_documents(TRY(read_config_file(options.file)), file));
  std::string out;
  std::vector<std::string> others;
  for (const Document& document : documents) {
    const auto kind = operator_network_kind(document);
    if (!kind) {
      others.push_back(document.title());
      continue;
    }
    const auto network = TRY(read_operator_network(document, *kind), document.where);
    out += (out.empty() ? "" : "---\n") + TRY(render_network(network, options.type), document.where);
  }
  if (!out.empty()) return out;
  return Error{Errc::invalid, 0,
               file + ": no HostDeviceNetwork, MacvlanNetwork or IPoIBNetwork" +
                   (others.empty() ? "" : ": there is " + first_few(others)),
               ErrorId::config_empty};
}

}  // namespace

int render(const RenderOptions& options) {
  const auto text = render_file(options);
  return text ? answer(*text) : fail(kWrongConfig, text.error());
}

}  // namespace vfrail::plugin
