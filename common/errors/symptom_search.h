// SymptomSearch: which symptoms (symptom.h) the lines of a text have, whatever their case. Pure.
#pragma once

#include "common/errors/symptom.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

struct SeenSymptom {
  const Symptom* symptom = nullptr;
  size_t line = 0;   // the first, from 1 on
  std::string text;  // of that line, from the message on, cut
};

inline constexpr size_t kMaxSymptomLine = 4096;          // what is longer is cut
inline constexpr size_t kMaxSearched = size_t{1} << 20;  // of a whole text
inline constexpr size_t kMaxAnswers = 5;                 // that people get

class SymptomSearch {
 public:
  SymptomSearch();
  // Whether the next line has one.
  bool add_line(std::string_view line);
  // What says most about the cause first; consequences only where nothing else was seen.
  std::vector<SeenSymptom> seen() const;

 private:
  struct Message {
    const Symptom* symptom;
    std::vector<std::string> parts;  // in lower case, between the "*"
  };
  std::vector<Message> messages_;
  std::vector<SeenSymptom> first_;  // by symptom; without a line: not seen
  size_t lines_ = 0;
};

// Of a text of several lines.
std::vector<SeenSymptom> seen_symptoms(std::string_view text);

// ASCII letters alone.
std::string in_lower_case(std::string_view text);
// "Port number ... state is Down": a message for people.
std::string shown_message(std::string_view message);

}  // namespace vfrail
