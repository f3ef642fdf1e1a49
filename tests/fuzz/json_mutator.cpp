// Mutation of JSON as a tree, for the targets that read it: keys and values are added, removed, moved,
// doubled and replaced, so that an input is still JSON and gets past the parser. Bytes are mutated too, by
// libFuzzer, for the parser's own sake. Words are those of the file that -dict= names, which tests/fuzz/run
// makes of the keys that the product's readers ask for.
//
// In front of the JSON other bytes may stand (target `stdin`): up to the first '{' after a zero byte they are
// left to libFuzzer. JSON in a text of JSON (a record's `config`) is mutated as a tree as well.
#include "common/json.h"
#include "common/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using vfrail::Json;

struct Words {
  std::vector<std::string> keys;  // of letters, as keys of objects are
  std::vector<Json> values;       // each of the words
};

// Never freed: libFuzzer leaves by _exit().
Words& words() {
  static Words* all = new Words;
  return *all;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() < 40 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// A line of a dictionary as libFuzzer has it: [name=]"text", with \\, \" and \xAB.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == 'x' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 2, 2)), nullptr, 16));
      i += 3;
    } else {
      out += text[++i];
    }
  }
  return out;
}

void add_word(const std::string& word) {
  const auto json = Json::parse(word);
  words().values.push_back(json ? *json : Json(vfrail::well_formed(word)));
  const std::string* text = words().values.back().as_text();
  if (text != nullptr && is_key(*text)) words().keys.push_back(*text);
}

void read_words(const char* file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t begin = line.find('"');
    const size_t end = line.rfind('"');
    if (line.starts_with('#') || begin == std::string::npos || end <= begin) continue;
    add_word(unescaped(std::string_view(line).substr(begin + 1, end - begin - 1)));
  }
}

class Mutation {
 public:
  explicit Mutation(uint32_t seed) : random_(seed) {}

  size_t below(size_t limit) { return random_() % limit; }

  void mutate(Json& root) {
    std::vector<Json*> places;
    collect(root, places);
    Json& place = *places[below(places.size())];
    const Json& other = *places[below(places.size())];
    switch (below(8)) {
      case 0:
        place = Json(Json(other));
        return;  // what stands elsewhere
      case 1:
        place = value();
        return;
      default:
        break;
    }
    if (Json::Object* object = place.as_object()) return members(*object, other);
    if (Json::Array* list = place.as_array()) return items(*list, other);
    leaf(place);
  }

 private:
  static void collect(Json& json, std::vector<Json*>& out) {
    out.push_back(&json);
    if (Json::Object* object = json.as_object()) {
      for (auto& member : *object) collect(member.second, out);
    } else if (Json::Array* list = json.as_array()) {
      for (Json& item : *list) collect(item, out);
    }
  }

  std::string key() { return words().keys.empty() ? "name" : words().keys[below(words().keys.size())]; }

  Json value() {
    static constexpr int64_t kNumbers[] = {
        0,    1,     -1,    2,     7,    8,     67,    68,        1500,       4094,      4095,     4096,
        9000, 65535, 65536, 99999, 1024, 10000, 86400, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN};
    switch (below(12)) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return Json::object();
      case 3:
        return Json::array();
      case 4:
        return Json("");
      case 5:
        return kNumbers[below(std::size(kNumbers))];
      case 6:
        return static_cast<int64_t>(below(200));
      case 7:
        return static_cast<double>(kNumbers[below(std::size(kNumbers))]) * 1.5;
      case 8:
        return Json(Json::Array{value()});
      case 9:
        return Json(Json::Object{{key(), value()}});
      default:
        return words().values.empty() ? Json("x") : words().values[below(words().values.size())];
    }
  }

  void members(Json::Object& object, const Json& other) {
    const Json copy = other;
    if (object.empty() || below(3) == 0) {
      object.emplace_back(key(), below(3) == 0 ? copy : value());
      return;
    }
    const size_t at = below(object.size());
    switch (below(4)) {
      case 0:
        object.erase(object.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        object[at].first = key();
        return;
      case 2:
        std::swap(object[at].second, object[below(object.size())].second);
        return;
      default:
        object[at].second = value();
        return;
    }
  }

  void items(Json::Array& list, const Json& other) {
    const Json copy = other;
    if (list.empty() || below(3) == 0) {
      list.push_back(below(2) == 0 ? copy : value());
      return;
    }
    const size_t at = below(list.size());
    switch (below(3)) {
      case 0:
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        list.push_back(Json(list[at]));
        return;
      default:
        list[at] = value();
        return;
    }
  }

  void leaf(Json& place) {
    const std::string* text = place.as_text();
    if (text == nullptr || below(4) == 0) {
      place = value();
      return;
    }
    if (text->starts_with('{')) {
      if (auto inner = Json::parse(*text)) {
        mutate(*inner);
        place = Json(inner->text());
        return;
      }
    }
    std::string bytes = *text;
    const size_t size = bytes.size();
    bytes.resize(size + 16);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
    place = Json(vfrail::well_formed(bytes));
  }

  std::minstd_rand random_;
};

// Where the JSON begins.
size_t json_begins(std::string_view text) {
  if (text.empty() || text.front() == '{' || text.front() == '[') return 0;
  if (text.size() > 1 && text[1] == '{') return 1;
  const size_t zero = text.find(std::string_view("\0{", 2));
  return zero == std::string_view::npos ? 0 : zero + 1;
}

size_t mutate_front(uint8_t* data, size_t size, size_t begin, size_t max_size) {
  std::string front(reinterpret_cast<const char*>(data), begin);
  const std::string rest(reinterpret_cast<const char*>(data) + begin, size - begin);
  front.resize(begin + std::min<size_t>(max_size - size, 64));
  front.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(front.data()), begin, front.size()));
  std::memcpy(data, front.data(), front.size());
  std::memcpy(data + front.size(), rest.data(), rest.size());
  return front.size() + rest.size();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "-dict=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.starts_with(kOption)) read_words((*argv)[i] + kOption.size());
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  Mutation mutation(seed);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t begin = json_begins(text);
  const size_t choice = mutation.below(16);
  if (choice == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (begin > 0 && choice < (begin > 1 ? 5 : 2)) return mutate_front(data, size, begin, max_size);
  auto json = Json::parse(text.substr(begin), max_size);
  if (!json) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t i = 0; i <= choice % 4; ++i) mutation.mutate(*json);
  const std::string out = json->text();
  if (begin + out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data + begin, out.data(), out.size());
  return begin + out.size();
}
