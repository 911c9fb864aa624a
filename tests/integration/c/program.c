/* Every function of mete/c.h, from C: what it answers, and what it says to mistakes.
 *
 * usage: program DIRECTORY     a new directory, for limits that last
 */
#include <mete/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                        \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      fprintf(stderr, "line %d: %s: last error: %s\n", __LINE__, #condition, mete_last_error()); \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

static mete_charge charge_of(const char* limit, const char* key, int64_t cost) {
  mete_charge charge;
  charge.limit = limit;
  charge.limit_size = METE_ZERO_ENDED;
  charge.key = key;
  charge.key_size = METE_ZERO_ENDED;
  charge.cost = cost;
  return charge;
}

static void define_all(mete_limiter* limiter) {
  mete_limit limit = METE_LIMIT_INIT;
  limit.name = "api";
  limit.kind = METE_BUCKET;
  limit.amount = 10;
  limit.period_ns = 3600 * METE_SECOND;
  limit.burst = 20;
  EXPECT(mete_define(limiter, &limit) == METE_OK);
  limit.name = "links";
  limit.kind = METE_CALENDAR;
  limit.period_ns = 0;
  limit.burst = 0;
  limit.unit = METE_MONTH;
  limit.zone = "Europe/Berlin";
  limit.anchor = 15;
  limit.durable = METE_EVERY_SECOND;
  EXPECT(mete_define(limiter, &limit) == METE_OK);
  mete_limit stock = METE_LIMIT_INIT;
  stock.name = "credits";
  stock.kind = METE_STOCK;
  stock.amount = 50;
  EXPECT(mete_define(limiter, &stock) == METE_OK);
  stock.name = "watched";
  stock.amount = 1;
  stock.is_shadow = 1;
  EXPECT(mete_define(limiter, &stock) == METE_OK);
}

static void take_and_give(mete_limiter* limiter) {
  mete_decision decision = METE_DECISION_INIT;
  mete_charge charge = charge_of("api", "alice", 15);
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_OK);
  EXPECT(decision.allowed && decision.taken == 15 && decision.remaining == 5 && decision.limit == 20);
  EXPECT(decision.retry_after_ns == 0 && decision.reset_after_ns > 0 && decision.violated == 0);
  charge.cost = 6;
  EXPECT(mete_peek(limiter, &charge, 1, &decision) == METE_OK && !decision.allowed);
  EXPECT(decision.violated == 1 && decision.retry_after_ns > 0 && decision.retry_after_ns <= 360 * METE_SECOND);
  charge.cost = 21;
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_OK && decision.retry_after_ns == METE_NEVER);
  EXPECT(mete_take(limiter, &charge, 1, NULL, NULL) == METE_OK);

  mete_charge both[2];
  both[0] = charge_of("credits", "alice", 3);
  both[1] = charge_of("watched", "alice", 2);
  mete_take_options options = METE_TAKE_OPTIONS_INIT;
  options.id = "once";
  EXPECT(mete_take(limiter, both, 2, &options, &decision) == METE_OK && decision.allowed && decision.violated == 2);
  EXPECT(mete_take(limiter, both, 2, &options, &decision) == METE_OK && decision.allowed);
  options.id = NULL;
  options.mode = METE_UP_TO;
  both[0].cost = 100;
  EXPECT(mete_take(limiter, both, 1, &options, &decision) == METE_OK && decision.taken == 47);

  /* Two charges on one limit: the bit is of the key that did not fit. */
  both[1] = charge_of("credits", "carol", 51);
  both[0].cost = 0;
  EXPECT(mete_peek(limiter, both, 2, &decision) == METE_OK && !decision.allowed && decision.violated == 2);

  mete_settlement settlement = METE_SETTLEMENT_INIT;
  both[0].cost = 50;
  EXPECT(mete_give(limiter, both, 1, "given", &settlement) == METE_OK && settlement.amount == 50);
  EXPECT(mete_give(limiter, both, 1, "given", &settlement) == METE_OK && settlement.remaining == 50);

  /* A key is any bytes, up to its count. */
  mete_charge bytes = charge_of("links", "a\0b, and what is not of it", 1);
  bytes.key_size = 3;
  EXPECT(mete_take(limiter, &bytes, 1, NULL, &decision) == METE_OK && decision.remaining == 9);
  mete_usage usage = METE_USAGE_INIT;
  EXPECT(mete_read_usage(limiter, &bytes, &usage) == METE_OK && usage.used == 1 && usage.limit == 10);
  bytes.key_size = 1;
  EXPECT(mete_read_usage(limiter, &bytes, &usage) == METE_OK && usage.used == 0);
}

static void hold_and_settle(mete_limiter* limiter) {
  mete_decision decision = METE_DECISION_INIT;
  mete_settlement settlement = METE_SETTLEMENT_INIT;
  mete_usage usage = METE_USAGE_INIT;
  char id[METE_ID_BYTES];
  mete_charge charge = charge_of("credits", "bob", 10);
  EXPECT(mete_hold(limiter, &charge, 1, 3600 * METE_SECOND, NULL, &decision, id) == METE_OK);
  EXPECT(decision.allowed && strlen(id) == 32);
  EXPECT(mete_extend(limiter, id, 7200 * METE_SECOND) == METE_OK);
  EXPECT(mete_read_usage(limiter, &charge, &usage) == METE_OK && usage.held == 10 && usage.used == 0);
  const int64_t paid = 7;
  EXPECT(mete_commit(limiter, id, &paid, 1, 0, &settlement) == METE_OK && settlement.amount == 7);

  mete_hold_options options = METE_HOLD_OPTIONS_INIT;
  options.id = "mine";
  options.tag = "job 7";
  EXPECT(mete_hold(limiter, &charge, 1, 3600 * METE_SECOND, &options, NULL, id) == METE_OK);
  EXPECT(strcmp(id, "mine") == 0);
  const int64_t too_much = 11;
  EXPECT(mete_commit(limiter, id, &too_much, 1, 0, NULL) == METE_EXCEEDS);
  EXPECT(mete_commit(limiter, id, &too_much, 1, 1, &settlement) == METE_OK && settlement.amount == 11);
  options.id = "other";
  EXPECT(mete_hold(limiter, &charge, 1, 3600 * METE_SECOND, &options, NULL, id) == METE_OK);
  EXPECT(mete_cancel(limiter, id, &settlement) == METE_OK && settlement.amount == 10 && settlement.remaining == 32);
  EXPECT(mete_cancel(limiter, "nobody's", NULL) == METE_NO_HOLD);
  charge.cost = 33;
  EXPECT(mete_hold(limiter, &charge, 1, METE_SECOND, NULL, &decision, id) == METE_OK && !decision.allowed);
  EXPECT(id[0] == '\0');
}

/* Without a size there is no place for the answer: nothing has happened then. */
static void refuse_bad_sizes(mete_limiter* limiter) {
  mete_decision decision = {0};
  mete_settlement settlement = {0};
  mete_usage before = METE_USAGE_INIT;
  mete_usage after = METE_USAGE_INIT;
  char id[METE_ID_BYTES];
  mete_charge charge = charge_of("credits", "dave", 5);
  EXPECT(mete_take(limiter, &charge, 1, NULL, NULL) == METE_OK);
  EXPECT(mete_hold(limiter, &charge, 1, 3600 * METE_SECOND, NULL, NULL, id) == METE_OK);
  EXPECT(mete_read_usage(limiter, &charge, &before) == METE_OK && before.used == 5 && before.held == 5);
  char second[METE_ID_BYTES];
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_INVALID);
  EXPECT(mete_hold(limiter, &charge, 1, METE_SECOND, NULL, &decision, second) == METE_INVALID);
  EXPECT(mete_give(limiter, &charge, 1, NULL, &settlement) == METE_INVALID);
  EXPECT(mete_commit(limiter, id, NULL, 0, 0, &settlement) == METE_INVALID);
  EXPECT(mete_cancel(limiter, id, &settlement) == METE_INVALID);
  EXPECT(mete_read_usage(limiter, &charge, &after) == METE_OK && after.used == 5 && after.held == 5);
  after.size = 0;
  EXPECT(mete_read_usage(limiter, &charge, &after) == METE_INVALID);
}

static void make_mistakes(mete_limiter* limiter) {
  mete_decision decision = METE_DECISION_INIT;
  mete_charge charge = charge_of("nothing", "alice", 1);
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_NO_LIMIT);
  EXPECT(strcmp(mete_last_error(), "NOLIMIT unknown limit 'nothing'") == 0);
  charge = charge_of("credits", "", 1);
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_INVALID);
  EXPECT(strcmp(mete_last_error(), "ERR key must have 1 to 512 bytes, not 0") == 0);
  charge = charge_of(NULL, NULL, 1);
  EXPECT(mete_take(limiter, &charge, 1, NULL, NULL) == METE_INVALID);
  charge = charge_of("credits", "alice", 1);
  EXPECT(mete_take(limiter, NULL, 1, NULL, NULL) == METE_INVALID);
  EXPECT(mete_take(limiter, &charge, 0, NULL, NULL) == METE_INVALID);
  EXPECT(mete_take(limiter, &charge, 17, NULL, NULL) == METE_INVALID);
  EXPECT(mete_take(NULL, &charge, 1, NULL, NULL) == METE_INVALID);
  mete_take_options options = METE_TAKE_OPTIONS_INIT;
  options.mode = (mete_mode)7;
  EXPECT(mete_take(limiter, &charge, 1, &options, NULL) == METE_INVALID);
  EXPECT(mete_hold(limiter, &charge, 1, METE_SECOND, NULL, NULL, NULL) == METE_INVALID);
  EXPECT(mete_hold(limiter, &charge, 1, 0, NULL, NULL, (char[METE_ID_BYTES]){0}) == METE_INVALID);
  mete_limit limit = METE_LIMIT_INIT;
  limit.name = "bad";
  limit.kind = (mete_kind)99;
  EXPECT(mete_define(limiter, &limit) == METE_INVALID && mete_define(limiter, NULL) == METE_INVALID);
  limit.kind = METE_WINDOW;
  limit.amount = 1;
  EXPECT(mete_define(limiter, &limit) == METE_INVALID); /* without a period */

  /* Compiled before a structure got its last members: those are neither read nor written. */
  limit.period_ns = METE_SECOND;
  limit.zone = "no zone is read";
  limit.size = offsetof(mete_limit, burst);
  EXPECT(mete_define(limiter, &limit) == METE_OK);
  decision.size = offsetof(mete_decision, remaining);
  decision.remaining = 77;
  EXPECT(mete_take(limiter, &charge, 1, NULL, &decision) == METE_OK && decision.taken == 1 && decision.remaining == 77);
  refuse_bad_sizes(limiter);

  int was_defined = 0;
  EXPECT(mete_drop(limiter, "bad", &was_defined) == METE_OK && was_defined);
  EXPECT(mete_drop(limiter, "bad", &was_defined) == METE_OK && !was_defined);
  EXPECT(mete_drop(limiter, "bad", NULL) == METE_OK);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  char url[4096];
  snprintf(url, sizeof url, "embedded:%s", argv[1]);
  mete_limiter* limiter = NULL;
  EXPECT(mete_open("nowhere:", &limiter) == METE_INVALID && limiter == NULL);
  EXPECT(mete_open(url, NULL) == METE_INVALID);
  EXPECT(mete_open(url, &limiter) == METE_OK);
  mete_limiter* second = NULL;
  EXPECT(mete_open(url, &second) != METE_OK && second == NULL); /* one at a time */
  define_all(limiter);
  take_and_give(limiter);
  hold_and_settle(limiter);
  make_mistakes(limiter);
  mete_close(limiter);
  mete_close(NULL);

  EXPECT(mete_open(url, &limiter) == METE_OK);
  const mete_charge bob = charge_of("credits", "bob", 0);
  mete_usage usage = METE_USAGE_INIT;
  EXPECT(mete_read_usage(limiter, &bob, &usage) == METE_OK && usage.used == 18 && usage.remaining == 32);
  mete_close(limiter);
  return 0;
}
