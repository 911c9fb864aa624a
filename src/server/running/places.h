// Places: the connections that one door may have at a time, and who has them.
//
// When all are taken, a newcomer gets the place of the stranger that has been there longest: who has a password shows
// it at once. Where there are no strangers, it gets one of a few that are kept for the admin and for questions about
// health, and of these, too, that of the stranger that has been there longest. Thread safety: every call from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace mete::server {

class Worker;

class Places {
 public:
  static constexpr std::size_t kReserve = 16;

  struct Stranger {
    std::uint64_t id;
    Worker* worker;
  };
  enum class Place : std::uint8_t { kUsual, kReserved, kNone };
  struct Given {
    Place place = Place::kNone;
    std::optional<Stranger> evicted = std::nullopt;  // to be closed, unless it has become known meanwhile
  };

  // For a newcomer, who is a stranger until note_known().
  Given give(const Stranger& newcomer, std::size_t usual_max);
  void note_known(std::uint64_t id);
  void take_back(std::uint64_t id, Place place);
  [[nodiscard]] std::size_t strangers() const;

 private:
  mutable std::mutex mutex_;
  struct Kind {
    std::map<std::uint64_t, Worker*> strangers = {};  // by id: the first has been there longest
    std::set<std::uint64_t> evicted = {};             // whose places are given, and who have not gone yet
    std::size_t taken = 0;
  };

  static bool give(Kind& kind, const Stranger& newcomer, std::size_t taken_max, Given& given);

  Kind usual_;
  Kind reserved_;
};

}  // namespace mete::server
