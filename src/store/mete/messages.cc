#include "store/mete/messages.h"

namespace mete::store::servers {

LimitMessage::LimitMessage(const Limit& limit)
    : kind(limit.kind()),
      name(limit.name()),
      amount(limit.amount()),
      period(limit.period()),
      unit(limit.unit()),
      burst(limit.burst()),
      zone(limit.zone()),
      anchor(limit.anchor()),
      is_shadow(limit.is_shadow()),
      durable(limit.durable()),
      on_fail(limit.on_fail()),
      scope(limit.scope()) {}

Limit LimitMessage::limit() const {
  Limit limit(kind, name);
  limit.amount(amount).shadow(is_shadow).on_fail(on_fail).scope(scope);
  if (period) limit.per(*period);
  if (unit) limit.per(*unit);
  if (burst) limit.burst(*burst);
  if (zone) limit.zone(*zone);
  if (anchor) limit.anchor(*anchor);
  if (durable) limit.durable(*durable);
  return limit;
}

}  // namespace mete::store::servers
