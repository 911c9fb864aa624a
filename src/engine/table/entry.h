// Entry: one record of the keyspace, in a block of the slab.
//
//     ┌──────────┬───────┬──────────┬──────────────┬───────┬─────────┬─────┐
//     │ hash_low │ space │ key_size │ payload_size │ flags │ payload │ key │
//     └──────────┴───────┴──────────┴──────────────┴───────┴─────────┴─────┘
//          4         4        2             1          1       …        …      bytes
//
// The payload is not aligned: it is copied in and out. Thread safety: guarded by the lock of the entry's bucket.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace mete::engine {

// What an entry is. Meters, overrides and held parts of one (limit, key) have one hash, and so one lock.
enum class EntryType : std::uint32_t { kMeter, kOverride, kHeldParts, kOperation, kTag, kKey };
inline constexpr std::size_t kEntryTypes = 6;

// An entry's name is its key within a space: a type, and for the first three types a limit.
class Space {
 public:
  static constexpr std::uint32_t kLimitsMax = 1U << 29;

  constexpr Space(EntryType type, std::uint32_t limit) : bits_(static_cast<std::uint32_t>(type) << 29 | limit) {}

  [[nodiscard]] constexpr EntryType type() const { return static_cast<EntryType>(bits_ >> 29); }
  [[nodiscard]] constexpr std::uint32_t limit() const { return bits_ & (kLimitsMax - 1); }
  [[nodiscard]] constexpr bool has_limit() const { return type() <= EntryType::kHeldParts; }
  bool operator==(const Space&) const = default;

 private:
  std::uint32_t bits_;
};

struct Entry {
  std::uint32_t hash_low;
  Space space;
  std::uint16_t key_size;
  std::uint8_t payload_size;
  std::uint8_t flags;

  [[nodiscard]] char* payload() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] const char* payload() const { return reinterpret_cast<const char*>(this + 1); }
  [[nodiscard]] std::string_view key() const { return {payload() + payload_size, key_size}; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(Entry) + payload_size + key_size; }

  template <class T>
  [[nodiscard]] T load() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, payload(), sizeof(T));  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    return value;
  }

  template <class T>
  void store(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(payload(), &value, sizeof(T));  // NOLINT(bugprone-sizeof-expression)
  }
};
static_assert(sizeof(Entry) == 12);

// Of every entry, for engine/recorder.h: it was changed, and that is not recorded yet; and the interval in which it was
// last recorded.
inline constexpr std::uint8_t kIsUnrecorded = 0x80;
inline constexpr std::uint8_t kIntervalMask = 0x78;
inline constexpr std::uint8_t kIntervalUnit = 0x08;
inline constexpr std::uint8_t kRecordingFlags = kIsUnrecorded | kIntervalMask;

// Flags of meter and override entries. Those of a key are its type.
inline constexpr std::uint8_t kEvenRevision = 1;  // the revision of the limit that the entry is of
inline constexpr std::uint8_t kHasOverride = 2;
inline constexpr std::uint8_t kHasHeldParts = 4;

}  // namespace mete::engine
