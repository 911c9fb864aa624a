// Cron: when a schedule such as "0 3 * * *" comes round, by the clocks of a time zone. Pure, but for make(), which
// reads the zone's file.
//
// Where clocks are changed: a schedule whose hours begin with * goes by what the clock shows, so that it runs in both
// of two repeated hours and in none of a skipped one. Any other is made up for: what a change skips runs just after it,
// and what it repeats runs the first time only.
//
// Thread safety: const calls from any thread.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "calendar/zone.h"
#include "sync/cron_fields.h"

namespace mete::sync {

class Cron {
 public:
  // Refuses what is no schedule, a schedule that never comes round (30 February), and an unknown zone. The message says
  // which of the two arguments it is about.
  static Result<Cron> make(std::string_view schedule, std::string_view zone = "UTC");

  // The first time after this one: a full minute.
  [[nodiscard]] Instant next(Instant after) const;

 private:
  Cron(CronFields fields, std::shared_ptr<const civil::Zone> zone) : fields_(fields), zone_(std::move(zone)) {}

  [[nodiscard]] std::optional<std::chrono::sys_seconds> find_next(std::chrono::sys_seconds after) const;
  [[nodiscard]] std::optional<std::chrono::sys_seconds> find_within(const civil::Stretch& stretch,
                                                                    std::chrono::sys_seconds after) const;
  [[nodiscard]] std::optional<std::chrono::local_seconds> find_local(std::chrono::local_seconds from,
                                                                     std::chrono::local_seconds end) const;

  CronFields fields_;
  std::shared_ptr<const civil::Zone> zone_;
};

}  // namespace mete::sync
