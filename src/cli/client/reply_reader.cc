#include "cli/client/reply_reader.h"

namespace mete::cli {

using wire::RespType;
using wire::RespValue;

namespace {

bool is_text(const RespValue& value) {
  return value.type == RespType::kBulk || value.type == RespType::kSimple || value.type == RespType::kVerbatim ||
         is_nil(value);
}

}  // namespace

ReplyReader::ReplyReader(const RespValue& reply)
    : parts_(is_aggregate(reply) ? reply.elements.data() : &reply),
      count_(is_aggregate(reply) ? reply.elements.size() : 1) {}

const RespValue& ReplyReader::any() {
  static const RespValue kNothing;
  if (has_more()) return parts_[next_++];
  is_bad_ = true;
  return kNothing;
}

std::int64_t ReplyReader::integer() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || value.type != RespType::kInteger;
  return value.integer;
}

std::string ReplyReader::text() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || !is_text(value);
  return value.text;
}

std::vector<std::string> ReplyReader::texts() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || !is_aggregate(value);
  std::vector<std::string> texts;
  for (const RespValue& each : value.elements) {
    is_bad_ = is_bad_ || !is_text(each);
    texts.push_back(each.text);
  }
  return texts;
}

Result<void> ReplyReader::finish() const {
  if (is_bad_ || has_more()) return tl::unexpected(unexpected_reply());
  return {};
}

bool is_aggregate(const RespValue& value) {
  return value.type == RespType::kArray || value.type == RespType::kMap || value.type == RespType::kSet;
}

bool is_nil(const RespValue& value) { return value.type == RespType::kNull; }

Error unexpected_reply() {
  return {ErrorCode::kInvalid,
          "the server answered what this program does not understand; is it a Mete of this version?"};
}

}  // namespace mete::cli
