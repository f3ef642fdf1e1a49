#include "plugin/documents/documents.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/documents/yaml.h"

#include <algorithm>
#include <optional>

namespace vfrail::plugin {

namespace {

// The objects of one List; the values of a text are bounded already.
constexpr size_t kMaxListDepth = 2;

constexpr const char* kBlanks = " \t\r\n";

bool has_separator(std::string_view text) {
  return text.starts_with("---") || text.find("\n---") != std::string_view::npos;
}

bool is_json(std::string_view text, std::string_view name) {
  if (name.ends_with(".json")) return true;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return false;
  const size_t first = text.find_first_not_of(kBlanks);
  return first < text.size() && (text[first] == '{' || text[first] == '[') && !has_separator(text);
}

// What no Kubernetes object has, so that a configuration with a comment "kind" stays one.
bool is_configuration(const Json::Object& object) {
  return std::any_of(object.begin(), object.end(), [](const auto& member) {
    return member.first == "resourceList" || member.first == "configList" || member.first == "mode";
  });
}

std::string text_of(const Json* value) {
  const std::string* text = value == nullptr ? nullptr : value->as_text();
  return text == nullptr ? "" : *text;
}

bool is_object_of_kubernetes(const Json& value) {
  return value.as_object() != nullptr && !is_configuration(*value.as_object()) &&
         !text_of(value.find("kind")).empty();
}

// What is around the documents of one file.
struct Reading {
  const std::string& file;
  std::shared_ptr<const std::string> text;
  std::vector<Document>& out;
};

Result<> add_document(const Reading& reading, const std::string& place, Json value, size_t depth = 0);

Result<> add_items(const Reading& reading, const std::string& place, const Json::Array& items, size_t depth) {
  for (size_t i = 0; i < items.size(); ++i)
    TRY(add_document(reading, place + ", item " + std::to_string(i + 1), items[i], depth + 1));
  return {};
}

Result<> add_document(const Reading& reading, const std::string& place, Json value, size_t depth) {
  if (value.is_null()) return {};
  Document out;
  out.where = reading.file + ": " + place;
  out.file_text = reading.text;
  if (!is_object_of_kubernetes(value)) {
    out.value = std::move(value);
    reading.out.push_back(std::move(out));
    return {};
  }
  out.kind = text_of(value.find("kind"));
  const Json* items = value.find("items");
  if (out.kind.ends_with("List") && items != nullptr && items->as_array() != nullptr && depth < kMaxListDepth)
    return add_items(reading, place, *items->as_array(), depth);
  const std::string version = text_of(value.find("apiVersion"));
  if (version.empty())
    return Error{Errc::invalid, 0,
                 out.where + " (" + out.kind + "): apiVersion: missing in an object with a kind"};
  const size_t slash = version.find('/');
  if (slash != std::string::npos) out.group = version.substr(0, slash);
  out.name = text_of(find_below(value, "metadata.name"));
  out.name_space = text_of(find_below(value, "metadata.namespace"));
  out.where += " (" + out.title() + ")";
  out.value = std::move(value);
  reading.out.push_back(std::move(out));
  return {};
}

Result<std::vector<Document>> read_json(const std::string& text, const std::string& file) {
  Json value = TRY(with_id(ErrorId::config_syntax, Json::parse(text)), file);
  std::vector<Document> out;
  if (is_object_of_kubernetes(value)) {
    const auto shared = std::make_shared<const std::string>(text);
    TRY(add_document({file, shared, out}, "document 1",
                     TRY(with_id(ErrorId::config_syntax, Json::parse_in_file(text)), file)));
  } else {
    out.emplace_back();
    out.back().where = file;
    out.back().value = std::move(value);
  }
  return out;
}

// "config.json: |" ends so, before a comment.
bool begins_literal_block(std::string_view line) {
  line = line.substr(0, line.find(" #"));
  const size_t last = line.find_last_not_of(" \t\r+-123456789");
  return last < line.size() && line[last] == '|';
}

std::string_view line_of(std::string_view text, uint32_t number) {
  size_t begin = 0;
  for (uint32_t line = 1; line < number && begin < text.size(); ++line)
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

std::string Document::title() const {
  return kind + " " + (name_space.empty() ? "" : name_space + "/") + (name.empty() ? "without a name" : name);
}

Result<std::vector<Document>> read_documents(std::string_view text, const std::string& file) {
  // As in Go: a byte that is not UTF-8 becomes U+FFFD, and in JSON the escape of half a surrogate pair, too.
  const std::string good = well_formed(text);
  if (good.find_first_not_of(kBlanks) == std::string::npos)
    return Error{Errc::invalid, 0, file + ": it is empty", ErrorId::config_empty};
  if (is_json(good, file)) return read_json(Json::as_unicode(good), file);
  std::vector<Json> values = TRY(read_yaml(good), file);
  const auto shared = std::make_shared<const std::string>(good);
  std::vector<Document> out;
  for (size_t i = 0; i < values.size(); ++i)
    TRY(add_document({file, shared, out}, "document " + std::to_string(i + 1), std::move(values[i])));
  return out;
}

const Json* find_below(const Json& value, std::string_view keys) {
  const Json* at = &value;
  for (const std::string& key : split(keys, ".")) {
    at = at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

Result<ObjectReader> read_spec(const Document& document) {
  const Json* spec = document.value.find("spec");
  if (spec == nullptr || spec->as_object() == nullptr)
    return Error{Errc::invalid, 0,
                 "spec" + in_line(document.value.line()) + ": must be an object, got " +
                     (spec == nullptr ? "nothing" : spec->type_name())};
  return ObjectReader(*spec->as_object(), "spec", spec->line());
}

Result<Json> read_embedded(const Document& document, const Json& scalar, std::string_view name) {
  // Of an object of the API server no line is known: positions are then those within the text.
  const bool in_file = scalar.line() != 0;
  const std::string line = in_file ? "line " + std::to_string(scalar.line()) + ": " : "";
  const std::string* text = scalar.as_text();
  if (text == nullptr) return Error{Errc::invalid, 0, line + "must be a text, got " + scalar.type_name()};
  if (text->find_first_not_of(kBlanks) == std::string::npos)
    return Error{Errc::invalid, 0, line + "it is empty", ErrorId::config_empty};
  TextLines lines{in_file ? scalar.line() : 1, !in_file};
  if (in_file && begins_literal_block(line_of(*document.file_text, scalar.line())))
    lines = {scalar.line() + 1, true};
  if (is_json(*text, name))
    return with_id(ErrorId::config_syntax, Json::parse_in_file(Json::as_unicode(*text), lines));
  std::vector<Json> values = TRY(read_yaml(*text, lines));
  if (values.size() == 1) return std::move(values.front());
  return Error{Errc::invalid, 0, line + "must be one document, got " + std::to_string(values.size())};
}

}  // namespace vfrail::plugin
