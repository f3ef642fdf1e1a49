#include "tests/support/json_schema.h"

#include <rapidjson/document.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

namespace vfrail::test {

std::string schema_violation(const std::string& schema, const std::string& json) {
  rapidjson::Document schema_text;
  rapidjson::Document document;
  if (schema_text.Parse(schema.c_str()).HasParseError()) return "the schema is no JSON";
  if (document.Parse(json.c_str()).HasParseError()) return "the text is no JSON";
  const rapidjson::SchemaDocument parsed(schema_text);
  rapidjson::SchemaValidator validator(parsed);
  if (document.Accept(validator)) return "";
  rapidjson::StringBuffer at;
  rapidjson::StringBuffer rule;
  validator.GetInvalidDocumentPointer().StringifyUriFragment(at);
  validator.GetInvalidSchemaPointer().StringifyUriFragment(rule);
  return std::string(at.GetString()) + ": " + validator.GetInvalidSchemaKeyword() + " of " + rule.GetString();
}

}  // namespace vfrail::test
