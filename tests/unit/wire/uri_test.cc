#include "wire/uri.h"

#include <gtest/gtest.h>

namespace mete::wire {
namespace {

using Segments = std::vector<std::string>;

void expect_refused(const auto& result, std::string_view reason, std::string_view input) {
  ASSERT_FALSE(result.has_value()) << input;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
}

TEST(SplitTarget, TakesPathsAndWholeAddresses) {
  const struct {
    std::string_view target;
    std::string_view path;
    std::string_view query;
  } rows[] = {
      {"/", "/", ""},     {"/v1/take", "/v1/take", ""},   {"/a?b=c?d", "/a", "b=c?d"}, {"/a?", "/a", ""},
      {"//a", "//a", ""}, {"http://host/a?b", "/a", "b"}, {"HTTPS://host:1", "/", ""}, {"http://host?a=b", "/", "a=b"},
  };
  for (const auto& row : rows) {
    const auto target = split_target(row.target);
    ASSERT_TRUE(target.has_value()) << row.target;
    EXPECT_EQ(target->path, row.path) << row.target;
    EXPECT_EQ(target->query, row.query) << row.target;
  }
  for (const std::string_view target : {"*", "v1/take", "host:80", "http:///a", "http://", "ftp://host/a", ""}) {
    EXPECT_FALSE(split_target(target).has_value()) << target;
  }
}

TEST(SplitPath, UnescapesEachSegment) {
  const struct {
    std::string_view path;
    Segments segments;
  } rows[] = {
      {"/", {""}},
      {"/a", {"a"}},
      {"/a/", {"a", ""}},
      {"//a", {"", "a"}},
      {"/v1/limits/a%2Fb%2f", {"v1", "limits", "a/b/"}},
      {"/user:42+x", {"user:42+x"}},
      {"/%e2%82%ac%20%25", {"€ %"}},
      {"/%7F%01", {"\x7f\x01"}},
      {"/../.", {"..", "."}},
  };
  for (const auto& row : rows) {
    const auto segments = split_path(row.path);
    ASSERT_TRUE(segments.has_value()) << row.path << ": " << segments.error().message;
    EXPECT_EQ(*segments, row.segments) << row.path;
  }
}

TEST(SplitPath, RefusesWhatIsNotText) {
  const struct {
    std::string_view path;
    std::string_view reason;
  } rows[] = {
      {"/%", "is not an escape"},          {"/%4", "is not an escape"},  {"/%4g", "is not an escape"},
      {"/%g4", "is not an escape"},        {"/%+1", "is not an escape"}, {"/a%00b", "%00"},
      {"/%C0%80", "is not UTF-8"},         {"/%c1%bf", "is not UTF-8"},  {"/%E0%80%AF", "is not UTF-8"},
      {"/%ED%A0%80", "is not UTF-8"},      {"/%FF", "is not UTF-8"},     {"/%C3/%A4", "is not UTF-8"},
      {"/a/%F5%80%80%80", "is not UTF-8"},
  };
  for (const auto& row : rows) expect_refused(split_path(row.path), row.reason, row.path);
  EXPECT_TRUE(split_path("/" + std::string(kPathSegmentsMax - 1, '/')).has_value());
  expect_refused(split_path("/" + std::string(kPathSegmentsMax, '/')), "segments", "many");
}

TEST(SplitQuery, ReadsFormsAndRefusesTheRest) {
  const auto parameters = split_query("limit=a%26b&key=x+y%2B%3D=&flag&empty=");
  ASSERT_TRUE(parameters.has_value()) << parameters.error().message;
  ASSERT_EQ(parameters->size(), 4U);
  EXPECT_EQ(parameters->at(0).value, "a&b");
  EXPECT_EQ(parameters->at(1).value, "x y+==");
  EXPECT_EQ(parameters->at(2).name, "flag");
  EXPECT_EQ(parameters->at(2).value, "");
  EXPECT_EQ(parameters->at(3).value, "");
  EXPECT_TRUE(split_query("")->empty());

  const struct {
    std::string_view query;
    std::string_view reason;
  } rows[] = {
      {"a=1&a=1", "twice"},           {"a=1&%61=2", "twice"},     {"a=%", "is not an escape"},
      {"%zz=1", "is not an escape"},  {"key=%00", "%00"},         {"key=%c0%80", "UTF-8"},
      {"=1", "without a name"},       {"a=1&", "without a name"}, {"&a=1", "without a name"},
      {"a=1&&b=2", "without a name"},
  };
  for (const auto& row : rows) expect_refused(split_query(row.query), row.reason, row.query);
  std::string many = "p";
  for (std::size_t i = 0; i < kQueryParametersMax; ++i) many += "&p" + std::to_string(i);
  expect_refused(split_query(many), "parameters", many);
}

TEST(PercentEncode, ComesBackAsItWas) {
  EXPECT_EQ(percent_encode("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(percent_encode("a/b c+%\xff"), "a%2Fb%20c%2B%25%FF");
  const std::string text = "€ / + % = & ?\x01\x7f";
  EXPECT_EQ(percent_decode(percent_encode(text), Plus::kIsPlus).value(), text);
  EXPECT_EQ(percent_decode(percent_encode(text), Plus::kIsSpace).value(), text);
}

}  // namespace
}  // namespace mete::wire
