#include "plugin/documents/yaml.h"

#include "common/errors/error_id.h"
#include "plugin/documents/yaml_scalar.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace vfrail::plugin {

namespace {

// Ends a parse from within the parser's events; yaml-cpp's own errors are YAML::Exception.
struct Refused {
  std::string text;
};

struct Size {
  size_t values = 1;
  size_t bytes = 0;
  size_t depth = 0;
};

Size size_of(const Json& value) {
  Size out;
  const auto add = [&out](const Json& part) {
    const Size size = size_of(part);
    out.values += size.values;
    out.bytes += size.bytes;
    out.depth = std::max(out.depth, size.depth + 1);
  };
  if (const auto* text = value.as_text()) out.bytes = text->size();
  if (const auto* list = value.as_array()) std::for_each(list->begin(), list->end(), add);
  if (const auto* object = value.as_object()) {
    for (const auto& [key, part] : *object) {
      out.bytes += key.size();
      add(part);
    }
  }
  return out;
}

// A TAB that indents a line, of which yaml-cpp says only what it misses then. In the lines about the failure
// alone: elsewhere it can be text.
std::optional<YAML::Mark> find_tab(std::string_view text, int failed_line) {
  constexpr int kAround = 1;
  YAML::Mark at = YAML::Mark::null_mark();
  at.line = 0;
  while (!text.empty() && at.line <= failed_line + kAround) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view indent = line.substr(0, line.find_first_not_of(" \t-"));
    at.column = static_cast<int>(std::min(indent.find('\t'), line.size()));
    if (at.line >= failed_line - kAround && indent.find('\t') != std::string_view::npos) return at;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++at.line;
  }
  return std::nullopt;
}

// yaml-cpp's messages that name what its scanner misses, not what a person has done.
std::string in_words(const std::string& failure) {
  static const std::map<std::string, const char*> kWords = {
      {"end of map not found",
       "it does not fit the keys above it: write the keys of one object in one column"},
      {"end of sequence not found",
       "it does not fit the list above it: write each \"- \" of a list in one column"},
      {"end of map flow not found", "a '{' that has no '}', or a comma is missing before this"},
      {"end of sequence flow not found", "a '[' that has no ']', or a comma is missing before this"},
      {"illegal map value",
       "a ':' where none can be: a text with \": \" needs quotes, and keys of one object are in one column"},
      {"unknown token", "a character that begins no value: a text with it needs quotes"},
  };
  const auto known = kWords.find(failure);
  return known == kWords.end() ? failure : known->second;
}

// Builds the values from yaml-cpp's events. `open_` holds the lists and objects being filled, outermost
// first.
class DocumentBuilder : public YAML::EventHandler {
 public:
  explicit DocumentBuilder(TextLines lines) : lines_(lines) {}

  std::vector<Json> documents;

  std::string place(const YAML::Mark& mark) const {
    const std::string line = "line " + std::to_string(line_of(mark));
    return lines_.one_each ? line + ", column " + std::to_string(mark.column + 1) : line;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents.size() >= kMaxYamlDocuments)
      refuse(mark, "more than " + std::to_string(kMaxYamlDocuments) + " documents");
    documents.emplace_back();
    anchors_.clear();
    open_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, Json()); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (awaits_key()) {
      count(mark, {.values = 1, .bytes = text.size()});
      remember(mark, anchor, Json(text));
      set_key(mark, text, tag == "?");
      return;
    }
    auto value = read_yaml_scalar(tag, text);
    if (!value) refuse(mark, value.error().text);
    add(mark, anchor, *std::move(value));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) refuse(mark, "an alias within what it is the alias of");
    const std::string* text = at->second.as_text();
    if (awaits_key() && text != nullptr) {
      count(mark, {.values = 1, .bytes = text->size()});
      return set_key(mark, *text, false);
    }
    count(mark, size_of(at->second));
    put(mark, at->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Json::array());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Json::object());
  }
  void OnMapEnd() override {
    merge(open_.back());
    close();
  }

 private:
  struct Open {
    Json value;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;                                  // of an object: its last key waits for its value
    bool merges = false;                                   // the last key is "<<"
    std::unordered_map<std::string, uint32_t> lines = {};  // of an object: key -> line
    std::vector<Json> merged = {};                         // the values of "<<"
  };

  bool awaits_key() const {
    return !open_.empty() && open_.back().value.as_object() != nullptr && !open_.back().has_key;
  }
  uint32_t line_of(const YAML::Mark& mark) const {
    return lines_.one_each ? lines_.first + static_cast<uint32_t>(std::max(mark.line, 0)) : lines_.first;
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    throw Refused{place(mark) + ": " + what};
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    refuse(mark, "more than " + std::to_string(kMaxYamlDepth) + " levels of nesting");
  }
  // Before memory is taken for it.
  void count(const YAML::Mark& mark, Size size) {
    values_ += size.values;
    bytes_ += size.bytes;
    if (open_.size() + size.depth > kMaxYamlDepth) refuse_depth(mark);
    if (values_ > kMaxYamlValues) refuse(mark, "more than " + std::to_string(kMaxYamlValues) + " values");
    if (bytes_ > kMaxYamlTextBytes)
      refuse(mark, "texts of more than " + std::to_string(kMaxYamlTextBytes) + " bytes, with all aliases");
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json value) {
    if (open_.size() >= kMaxYamlDepth) refuse_depth(mark);
    if (tag.size() > 1 && !tag.starts_with("tag:yaml.org,2002:"))
      refuse(mark, "a tag that is not known: " + tag);
    if (awaits_key()) refuse(mark, "a key that is a list or an object");
    count(mark, {});
    value.at_line(line_of(mark));
    open_.push_back({std::move(value), mark, anchor});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    remember(done.mark, done.anchor, done.value);
    put(done.mark, std::move(done.value));
  }
  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    value.at_line(line_of(mark));
    count(mark, size_of(value));
    remember(mark, anchor, value);
    put(mark, std::move(value));
  }
  void remember(const YAML::Mark& mark, YAML::anchor_t anchor, const Json& value) {
    if (anchor == 0) return;
    count(mark, size_of(value));
    anchors_[anchor] = value;
  }
  void set_key(const YAML::Mark& mark, const std::string& key, bool plain) {
    Open& object = open_.back();
    object.has_key = true;
    object.merges = plain && key == "<<";
    if (object.merges) return;
    const auto [known, is_new] = object.lines.try_emplace(key, line_of(mark));
    if (!is_new) refuse(mark, "the key \"" + key + "\" is already in line " + std::to_string(known->second));
    object.value.as_object()->emplace_back(key, Json());
  }
  void put(const YAML::Mark& mark, Json value) {
    if (open_.empty()) {
      documents.back() = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (Json::Array* list = parent.value.as_array()) {
      list->push_back(std::move(value));
      return;
    }
    if (!parent.has_key) refuse(mark, "a key that is not a string");
    parent.has_key = false;
    if (parent.merges) {
      parent.merged.push_back(std::move(value));
    } else {
      parent.value.as_object()->back().second = std::move(value);
    }
  }
  // The keys of the objects in "<<" that the object does not have itself; of several the first counts.
  void merge(Open& object) {
    for (const Json& source : object.merged) {
      const Json::Array one = {source};
      const Json::Array* list = source.as_array();
      for (const Json& part : list == nullptr ? one : *list) {
        if (part.as_object() == nullptr) refuse(object.mark, "<<: must be an object or a list of objects");
        for (const auto& [key, value] : *part.as_object()) {
          if (!object.lines.try_emplace(key, value.line()).second) continue;
          count(object.mark, size_of(value));
          object.value.as_object()->emplace_back(key, value);
        }
      }
    }
  }

  TextLines lines_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Json> anchors_;
  size_t values_ = 0;
  size_t bytes_ = 0;
};

Result<> check_size(std::string_view text) {
  if (text.size() > kMaxYamlBytes)
    return Error{Errc::invalid, 0,
                 "the text has more than the " + std::to_string(kMaxYamlBytes) + " bytes allowed",
                 ErrorId::config_syntax};
  const auto indicators = static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{' || c == ','; }));
  if (indicators > kMaxYamlIndicators)
    return Error{Errc::invalid, 0,
                 "more than " + std::to_string(kMaxYamlIndicators) + " brackets, braces and commas",
                 ErrorId::config_syntax};
  return {};
}

}  // namespace

Result<std::vector<Json>> read_yaml(std::string_view text, TextLines lines) {
  TRY(check_size(text));
  DocumentBuilder builder(lines);
  const auto fault = [&builder](const std::string& what) {
    const size_t number = std::max<size_t>(builder.documents.size(), 1);
    return Error{Errc::invalid, 0, "document " + std::to_string(number) + ": " + what,
                 ErrorId::config_syntax};
  };
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return fault(refused.text);
  } catch (const YAML::Exception& failure) {
    if (const auto tab = find_tab(text, failure.mark.line))
      return fault(builder.place(*tab) + ": a TAB in the indentation, where YAML takes blanks alone");
    return fault(builder.place(failure.mark) + ": " + in_words(failure.msg));
  }
  return std::move(builder.documents);
}

}  // namespace vfrail::plugin
