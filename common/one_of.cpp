#include "common/one_of.h"

#include "common/json.h"
#include "common/text.h"

namespace vfrail {

std::string must_be_one_of(const std::vector<std::string>& known, std::string_view got) {
  constexpr size_t kShown = 60;  // enough to recognise it
  const std::string word = well_formed(got.substr(0, kShown));
  const std::string meant = nearest_name(word, known);
  return "must be one of " + joined(known) + ", got \"" + word + "\"" +
         (meant.empty() ? "" : "; did you mean \"" + meant + "\"?");
}

}  // namespace vfrail
