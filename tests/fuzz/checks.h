// What must hold of every input, whichever target it came to. A check that fails ends the program, so that
// libFuzzer keeps the input.
#pragma once

#include "cni/record/record.h"
#include "common/ip_address.h"
#include "common/json.h"
#include "common/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Holds also in a release build, unlike assert().
#define MUST(condition)                                                     \
  do {                                                                      \
    if (!(condition)) ::vfrail::fuzz::fail(__FILE__, __LINE__, #condition); \
  } while (false)

namespace vfrail::fuzz {
using namespace cni;

[[noreturn]] void fail(const char* file, int line, const char* condition);

// While libFuzzer tries new inputs (-runs, -max_total_time), each goes through a part of what the target
// does, because the whole takes several times as long. A replay of inputs, which are known for what they once
// broke, goes through everything.
bool tries_new_inputs();
// Whether an input goes through a part for which it is the turn of some new ones.
inline bool is_due(bool is_turn) { return is_turn || !tries_new_inputs(); }

std::string_view text_of(const uint8_t* data, size_t size);

// Can be one component of a path: it neither leaves its folder nor is cut short by a zero.
bool is_file_name(std::string_view name);
bool is_sound(const IpAddress& address);

// A message can be printed as a CNI error, and is then what it was for whoever reads it.
void check_error(const Error& error);
// What a value prints is read as the same value, in one of the forms, and it is no deeper than allowed.
void check_json(const Json& json);
// It prints as text that reads as the same record, and no file named after it lies outside the state folder.
void check_record(const Record& record);

}  // namespace vfrail::fuzz
