#include "journal/record.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::journal {
namespace {

using Kind = ParsedRecord::Kind;

std::string framed(const Framing& framing, const Record& record) {
  base::Output output;
  framing.append(output, record);
  return std::string(output.view());
}

TEST(Record, IsReadAsItWasWritten) {
  const Framing framing(7);
  const std::string largest(kBodyBytesMax, 'x');
  for (const std::string_view body : {std::string_view("a"), std::string_view("\0\0", 2), std::string_view(largest)}) {
    for (const RecordType type : {RecordType::kChanges, RecordType::kMark, RecordType::kEnd}) {
      const std::string bytes = framed(framing, {type, body}) + "what follows";
      const auto parsed = framing.parse(bytes);
      ASSERT_EQ(parsed.kind, Kind::kRecord);
      EXPECT_EQ(parsed.record.type, type);
      EXPECT_EQ(parsed.record.body, body);
    }
  }
}

TEST(Record, OfAnotherStoreIsNone) {
  EXPECT_EQ(Framing(8).parse(framed(Framing(7), {RecordType::kChanges, "body"})).kind, Kind::kBroken);
}

TEST(Record, WithAnyBitFlippedIsNone) {
  const Framing framing(7);
  const std::string good = framed(framing, {RecordType::kChanges, "body"});
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(framing.parse(bytes).kind, Kind::kRecord) << bit;
  }
}

TEST(Record, ThatIsCutIsIncomplete) {
  const Framing framing(7);
  const std::string good = framed(framing, {RecordType::kChanges, "body"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(framing.parse(std::string_view(good).substr(0, size)).kind, Kind::kIncomplete) << size;
  }
}

// What is whole but not known was not torn: it may be of value to another program.
TEST(Record, OfUnknownTypeOrVersionIsToldFromABrokenOne) {
  const Framing framing(7);
  EXPECT_EQ(framing.parse(framed(framing, {static_cast<RecordType>(4), "body"})).kind, Kind::kUnknown);
  EXPECT_EQ(framing.parse(framed(framing, {static_cast<RecordType>(0), "body"})).kind, Kind::kUnknown);
}

TEST(Record, OfNoLengthOrAnEnormousOneIsBroken) {
  const Framing framing(7);
  EXPECT_EQ(framing.parse(std::string(100, '\0')).kind, Kind::kBroken);
  EXPECT_EQ(framing.parse(std::string(100, '\xff')).kind, Kind::kBroken);
}

}  // namespace
}  // namespace mete::journal
