#include "server/doors/http/route.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "server/doors/http/schema.h"
#include "support/files.h"
#include "wire/json.h"

namespace mete::server {
namespace {

using wire::JsonArray;
using wire::JsonObject;
using wire::JsonValue;

const JsonValue& at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = find_member(object, name);
  EXPECT_NE(value, nullptr) << name;
  static const JsonValue kEmpty{JsonObject()};
  return value == nullptr ? kEmpty : *value;
}

void collect_references(const JsonValue& value, std::set<std::string>& references) {
  if (const auto* array = value.as<JsonArray>()) {
    for (const JsonValue& element : *array) collect_references(element, references);
  }
  if (const auto* object = value.as<JsonObject>()) {
    for (const wire::JsonMember& member : *object) {
      if (member.name == "$ref") references.insert(*member.value.as<std::string>());
      collect_references(member.value, references);
    }
  }
}

TEST(OpenApi, IsAsCheckedIn) {
  const std::string path = support::repository() / "docs/openapi.json";
  if (std::getenv("METE_REGENERATE") != nullptr) std::ofstream(path, std::ios::binary) << openapi_document();
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == openapi_document())
      << "docs/openapi.json is not what the routes make of it. To write it anew:\n"
      << "  METE_REGENERATE=1 build/tests/mete_unit_tests --gtest_filter=OpenApi.IsAsCheckedIn";
}

TEST(OpenApi, RefersOnlyToWhatIsThere) {
  const auto document = wire::read_json(openapi_document());
  ASSERT_TRUE(document.has_value()) << document.error().message;
  EXPECT_EQ(*at(*document, "openapi").as<std::string>(), "3.1.0");
  std::set<std::string> references;
  collect_references(*document, references);
  for (const std::string& reference : references) {
    ASSERT_TRUE(reference.starts_with("#/components/")) << reference;
    const std::size_t slash = reference.rfind('/');
    const std::string kind = reference.substr(13, slash - 13);
    const JsonValue& components = at(at(*document, "components"), kind);
    EXPECT_NE(find_member(components, reference.substr(slash + 1)), nullptr) << reference;
  }
  for (const auto& schema : *at(at(*document, "components"), "schemas").as<JsonObject>()) {
    EXPECT_TRUE(references.contains("#/components/schemas/" + schema.name)) << "nothing refers to " << schema.name;
  }
}

TEST(OpenApi, HasEveryRouteOnce) {
  const auto document = wire::read_json(openapi_document());
  ASSERT_TRUE(document.has_value());
  std::set<std::string> names;
  std::size_t operations = 0;
  for (const auto& path : *at(*document, "paths").as<JsonObject>()) {
    for (const auto& operation : *path.value.as<JsonObject>()) {
      ++operations;
      names.insert(*at(operation.value, "operationId").as<std::string>());
      // Each parameter of the path is declared, and is required.
      std::size_t declared = 0;
      for (const JsonValue& parameter : *at(operation.value, "parameters").as<JsonArray>()) {
        if (*at(parameter, "in").as<std::string>() != "path") continue;
        ++declared;
        EXPECT_NE(path.name.find("{" + *at(parameter, "name").as<std::string>() + "}"), std::string::npos);
        EXPECT_TRUE(*at(parameter, "required").as<bool>());
      }
      EXPECT_EQ(declared, static_cast<std::size_t>(std::count(path.name.begin(), path.name.end(), '{'))) << path.name;
      EXPECT_FALSE(at(operation.value, "responses").as<JsonObject>()->empty());
    }
  }
  EXPECT_EQ(operations, http_routes().size());
  EXPECT_EQ(names.size(), http_routes().size()) << "names are unique";
}

}  // namespace
}  // namespace mete::server
