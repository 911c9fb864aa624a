#include "store/etcd/messages.h"

#include "base/errors.h"
#include "wire/protobuf.h"

namespace mete::store::etcd {

namespace {

using wire::ProtobufReader;
using wire::ProtobufWriter;

// The numbers of the fields in etcd's rpc.proto and kv.proto.
namespace field {
constexpr std::uint32_t kTxnCompare = 1;
constexpr std::uint32_t kTxnSuccess = 2;
constexpr std::uint32_t kTxnFailure = 3;
constexpr std::uint32_t kTxnHeader = 1;
constexpr std::uint32_t kTxnSucceeded = 2;
constexpr std::uint32_t kTxnResponses = 3;
constexpr std::uint32_t kHeaderRevision = 3;
constexpr std::uint32_t kCompareTarget = 2;
constexpr std::uint32_t kCompareKey = 3;
constexpr std::uint32_t kCompareModRevision = 6;
constexpr std::uint32_t kOperationRange = 1;
constexpr std::uint32_t kOperationPut = 2;
constexpr std::uint32_t kOperationDelete = 3;
constexpr std::uint32_t kKey = 1;  // of a range, a put and a deletion, as the next is
constexpr std::uint32_t kEndOrValue = 2;
constexpr std::uint32_t kRangeLimit = 3;
constexpr std::uint32_t kRangeKeysOnly = 8;
constexpr std::uint32_t kRangeCountOnly = 9;
constexpr std::uint32_t kRangeFound = 2;
constexpr std::uint32_t kRangeMore = 3;
constexpr std::uint32_t kRangeCount = 4;
constexpr std::uint32_t kPairKey = 1;
constexpr std::uint32_t kPairModRevision = 3;
constexpr std::uint32_t kPairValue = 5;
constexpr std::uint32_t kUser = 1;
constexpr std::uint32_t kPassword = 2;
constexpr std::uint32_t kToken = 2;
}  // namespace field

constexpr std::uint64_t kTargetModRevision = 2;  // and to compare for equality is 0

Error unreadable() { return base::unavailable("etcd's answer cannot be read: is that an etcd 3?"); }

std::string encode(const Compare& compare) {
  return ProtobufWriter()
      .number(field::kCompareTarget, kTargetModRevision)
      .bytes(field::kCompareKey, compare.key)
      .chosen_number(field::kCompareModRevision, static_cast<std::uint64_t>(compare.revision))
      .text();
}

std::string encode(const Put& put) {
  return ProtobufWriter().bytes(field::kKey, put.key).bytes(field::kEndOrValue, put.value).text();
}

std::string encode(const Range& range) {
  return ProtobufWriter()
      .bytes(field::kKey, range.key)
      .bytes(field::kEndOrValue, range.end)
      .number(field::kRangeLimit, static_cast<std::uint64_t>(range.count_max))
      .number(field::kRangeKeysOnly, range.keys_only ? 1 : 0)
      .number(field::kRangeCountOnly, range.count_only ? 1 : 0)
      .text();
}

std::string operation(std::uint32_t kind, const std::string& request) {
  return ProtobufWriter().message(kind, request).text();
}

bool decode_pair(std::string_view message, KeyValue& pair) {
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kPairKey) pair.key = reader.bytes();
    if (reader.field() == field::kPairModRevision) pair.revision = reader.signed_number();
    if (reader.field() == field::kPairValue) pair.value = reader.bytes();
  }
  return reader.is_whole();
}

bool decode_range(std::string_view message, RangeAnswer& range) {
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kRangeFound && !decode_pair(reader.bytes(), range.found.emplace_back())) return false;
    if (reader.field() == field::kRangeMore) range.has_more = reader.number() != 0;
    if (reader.field() == field::kRangeCount) range.count = reader.number();
  }
  return reader.is_whole();
}

bool decode_header(std::string_view message, TxnAnswer& answer) {
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kHeaderRevision) answer.revision = reader.signed_number();
  }
  return reader.is_whole();
}

// What became of one operation; only of reading there is something to tell.
bool decode_operation(std::string_view message, TxnAnswer& answer) {
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kOperationRange && !decode_range(reader.bytes(), answer.reads.emplace_back())) {
      return false;
    }
  }
  return reader.is_whole();
}

}  // namespace

std::string encode(const Txn& txn) {
  ProtobufWriter writer;
  for (const Compare& compare : txn.compares) writer.message(field::kTxnCompare, encode(compare));
  for (const Put& put : txn.puts) writer.message(field::kTxnSuccess, operation(field::kOperationPut, encode(put)));
  for (const Range& range : txn.deletes) {
    writer.message(field::kTxnSuccess, operation(field::kOperationDelete, encode(range)));
  }
  // With nothing to change, everything is as expected: then it is here that it reads.
  const std::uint32_t where = txn.has_changes() ? field::kTxnFailure : field::kTxnSuccess;
  for (const Range& range : txn.reads) writer.message(where, operation(field::kOperationRange, encode(range)));
  return std::move(writer).take();
}

Result<TxnAnswer> decode_txn(std::string_view message) {
  TxnAnswer answer;
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kTxnHeader && !decode_header(reader.bytes(), answer)) return unreadable();
    if (reader.field() == field::kTxnSucceeded) answer.has_changed = reader.number() != 0;
    if (reader.field() == field::kTxnResponses && !decode_operation(reader.bytes(), answer)) return unreadable();
  }
  if (!reader.is_whole()) return unreadable();
  return answer;
}

std::string encode_authenticate(std::string_view user, std::string_view password) {
  return ProtobufWriter().bytes(field::kUser, user).bytes(field::kPassword, password).text();
}

Result<std::string> decode_token(std::string_view message) {
  std::string token;
  ProtobufReader reader(message);
  while (reader.next()) {
    if (reader.field() == field::kToken) token = reader.bytes();
  }
  if (!reader.is_whole() || token.empty()) return unreadable();
  return token;
}

}  // namespace mete::store::etcd
