-- What \df+ and other tools tell of the functions.

comment on schema mete is 'Mete: limits, usage and holds. Applications call its functions';
comment on function mete.take(text, text, bigint, text, text) is
  'Takes cost units of the limit for the key, if they fit. The same id again gets the same answer. mode: take, up_to, force';
comment on function mete.take_all(jsonb, text, text) is
  'Takes several charges, all or nothing: [{"limit": "api", "key": "alice", "cost": 1}, ...]';
comment on function mete.peek(text, text, bigint) is 'The answer that take would give; nothing changes';
comment on function mete.peek_all(jsonb) is 'The answer that take_all would give; nothing changes';
comment on function mete.give(text, text, bigint, text) is 'Gives back what was taken, at most what is used';
comment on function mete.give_all(jsonb, text) is 'Gives back several charges';
comment on function mete.hold(text, text, bigint, interval, text, text) is
  'Sets cost units aside until they are committed, cancelled, or the ttl is over. Without an id the tag is the id';
comment on function mete.hold_all(jsonb, interval, text, text) is 'Sets several charges aside, all or nothing';
comment on function mete.commit is
  'Charges what is held, or an amount for each charge, and returns the rest. The same again gets the same answer';
comment on function mete.cancel is 'Returns what is held. The same again gets the same answer';
comment on function mete.extend is 'Lets an open hold expire ttl from now';
comment on function mete.usage is 'How a key stands: used, held, remaining, limit';
comment on function mete.define is 'Defines a limit, or changes it; usage is kept';
comment on function mete.drop_limit is 'Forgets a limit with all that is used and held of it; false if there is none';
comment on function mete.override is 'Another amount for one key; null: that of the limit again';
comment on function mete.restrict is 'Keeps a limit for some roles; null: for all who may use Mete';
comment on function mete.reconcile is 'Sets what a key has used, from a source of truth; what is held stays held';
comment on function mete.expire is 'Lets holds expire, forgets old ids, and deletes what is as fresh';
comment on function mete.prune is 'Deletes events from before an instant, and keeps the sums of the present windows';
comment on function mete.audit is 'Where a balance is not what its events and holds add up to; no rows if the books are right';
