// The messages of etcd's API, as far as this store has use for them: everything is a transaction.
//
// A transaction compares when keys were last written; if all is as expected it makes its changes, and if not it reads
// instead. Pure: values to bytes and back. Views are valid as long as what they were made from.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::store::etcd {

inline constexpr std::string_view kTxnPath = "/etcdserverpb.KV/Txn";
inline constexpr std::string_view kAuthenticatePath = "/etcdserverpb.Auth/Authenticate";

// What etcd takes by default: of comparisons and of operations, each (--max-txn-ops); and of bytes
// (--max-request-bytes, 1.5 MiB), from which something is left for the rest of the message.
inline constexpr std::size_t kTxnOperationsMax = 128;
inline constexpr std::size_t kTxnBytesMax = std::size_t{1400} << 10;

// The revision at which a key was last written; 0: there is no such key.
using Revision = std::int64_t;

struct Compare {
  std::string_view key;
  Revision revision = 0;
};

// One key, or all from `key` up to but without `end`.
struct Range {
  std::string_view key;
  std::string_view end = {};
  std::int64_t count_max = 0;  // 0: all
  bool keys_only = false;
  bool count_only = false;
};

struct Put {
  std::string_view key;
  std::string_view value;
};

struct Txn {
  std::vector<Compare> compares = {};
  std::vector<Put> puts = {};
  std::vector<Range> deletes = {};  // no key of them is put too
  std::vector<Range> reads = {};    // if a comparison fails; or if there is nothing to change

  [[nodiscard]] bool has_changes() const { return !puts.empty() || !deletes.empty(); }
};

struct KeyValue {
  std::string key;
  std::string value;
  Revision revision = 0;
};

struct RangeAnswer {
  std::vector<KeyValue> found;
  bool has_more = false;
  std::uint64_t count = 0;  // of all in the range
};

struct TxnAnswer {
  bool has_changed = false;
  Revision revision = 0;                // of all of etcd: the one that was put has
  std::vector<RangeAnswer> reads = {};  // one for each, if it has not
};

std::string encode(const Txn& txn);
// Bytes that encode() makes of a put, about.
inline std::size_t bytes_of(const Put& put) { return put.key.size() + put.value.size() + 32; }

Result<TxnAnswer> decode_txn(std::string_view message);

std::string encode_authenticate(std::string_view user, std::string_view password);
Result<std::string> decode_token(std::string_view message);

}  // namespace mete::store::etcd
