#include "lab/bench/requests.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace mete::lab {
namespace {

constexpr std::string_view kFirst = "0000000000000000101";
constexpr std::string_view kSecond = "0000000000000000102";

// Keys 11, 12, 13, …; numbers 101, 102, 103, …
void count_on(Operation& operation) {
  ++operation.key;
  ++operation.sequence;
}
constexpr Operation kStart = {.key = 10, .sequence = 100};

TEST(RequestsTest, CommandsHaveTheKeysDigits) {
  const std::vector<std::string> words = {"TAKE", "api", "a:{key}:{key}", "{unknown}"};
  const Request command = make_command(words, 10'001);
  RequestBatch batch({&command, 1}, 0, 2, 10'001);
  Operation operation = kStart;
  const std::string start = "*4\r\n$4\r\nTAKE\r\n$3\r\napi\r\n$13\r\n";
  const std::string end = "\r\n$9\r\n{unknown}\r\n";
  EXPECT_EQ(batch.fill(operation, count_on), start + "a:00011:00011" + end + start + "a:00012:00012" + end);
  EXPECT_EQ(batch.fill(operation, count_on), start + "a:00013:00013" + end + start + "a:00014:00014" + end);
}

TEST(RequestsTest, OneKeyHasOneDigit) {
  EXPECT_EQ(make_request("{key}", 1).bytes, "0");
  EXPECT_EQ(make_request("{key}", 10).bytes, "0");
  EXPECT_EQ(make_request("{key}", 11).bytes, "00");
}

TEST(RequestsTest, AnOperationKeepsItsNumberOverItsSteps) {
  const Request steps[] = {make_request("H{key}:{seq} ", 100), make_request("C{seq} ", 100)};
  RequestBatch batch(steps, 0, 4, 100);
  Operation operation = kStart;
  const std::string first(kFirst);
  const std::string second(kSecond);
  EXPECT_EQ(batch.fill(operation, count_on), "H11:" + first + " C" + first + " H12:" + second + " C" + second + " ");
}

TEST(RequestsTest, AnOperationGoesOnInTheNextBatch) {
  const Request steps[] = {make_request("H{key}:{seq} ", 100), make_request("C{key}:{seq} ", 100)};
  RequestBatch from_first(steps, 0, 1, 100);
  RequestBatch from_second(steps, 1, 2, 100);
  Operation operation = kStart;
  const std::string first(kFirst);
  const std::string second(kSecond);
  EXPECT_EQ(from_first.fill(operation, count_on), "H11:" + first + " ");
  EXPECT_EQ(from_second.fill(operation, count_on), "C11:" + first + " H12:" + second + " ");
  EXPECT_EQ(from_second.fill(operation, count_on), "C12:" + second + " H13:0000000000000000103 ");
}

}  // namespace
}  // namespace mete::lab
