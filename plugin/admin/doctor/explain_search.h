// What `vfrail explain TEXT` knows of a text other than an id: a message of another program, a part of a log,
// or words. Pure.
#pragma once

#include "common/errors/check_row.h"
#include "common/errors/error_id.h"
#include "common/errors/symptom.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// One of the three is set.
struct Explained {
  const Symptom* symptom = nullptr;
  std::string_view message = {};  // of the symptom: that which the text has, else the first
  const CheckRow* check = nullptr;
  const ErrorRow* error = nullptr;
  // Words of the text are in it, and no more is known: it may be about something else.
  bool guessed = false;
};

// A check of nodes or of pods by its id. Null for another text.
const CheckRow* find_row_of_check(std::string_view text);

// Best first, kMaxAnswers at most: the symptoms that lines of the text have, and the ids that it names; if
// there are none, what has all words of a line, or guessed, with three words and more, most of them.
std::vector<Explained> search_explained(std::string_view text);

}  // namespace vfrail::plugin
