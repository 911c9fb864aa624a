/* Mete for C, and for every language that can call C: limits in this process, in memory or in a directory.
 *
 *     mete_limiter* limiter = NULL;
 *     if (mete_open("embedded:limits", &limiter) != METE_OK) return complain(mete_last_error());
 *     mete_limit api = METE_LIMIT_INIT;
 *     api.name = "api"; api.kind = METE_BUCKET; api.amount = 100; api.period_ns = 60 * METE_SECOND; api.burst = 200;
 *     mete_define(limiter, &api);
 *     mete_charge charge = {"api", METE_ZERO_ENDED, "alice", METE_ZERO_ENDED, 1};
 *     mete_decision decision = METE_DECISION_INIT;
 *     if (mete_take(limiter, &charge, 1, NULL, &decision) == METE_OK && decision.allowed) …
 *     mete_close(limiter);
 *
 * Every call but mete_close() returns METE_OK or what went wrong, of which mete_last_error() has the words. A denial is
 * not an error. An error has changed nothing, but METE_UNAVAILABLE may mean that the disk failed on the way. What each
 * call does is in docs/semantics.md: these are the calls of <mete/limiter.h>, and no more than them.
 *
 * Texts are bytes and their count; METE_ZERO_ENDED in place of the count: up to the first zero. They are valid for the
 * call alone, as all that is passed in. Times are nanoseconds; METE_NEVER stands for no wait is enough.
 *
 * Stable: functions stay as they are, with the symbol version METE_1. A structure that begins with its size may get
 * more members at its end; who was compiled without them says so by the size, which the …_INIT sets.
 *
 * Thread safety: every call from any thread; only mete_close() must be kept apart from the others on its limiter.
 */
#pragma once

/* C's ways, not those of C++. NOLINTBEGIN */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define METE_ZERO_ENDED SIZE_MAX
#define METE_NEVER INT64_MAX
#define METE_SECOND INT64_C(1000000000)
/* Room for the id of any hold, and a zero behind it. */
#define METE_ID_BYTES 129

typedef struct mete_limiter mete_limiter;

typedef enum mete_status {
  METE_OK = 0,
  METE_INVALID = 1,       /* an argument is out of its range; the words name it */
  METE_NO_LIMIT = 2,      /* no limit of that name is defined */
  METE_NO_HOLD = 3,       /* no open hold of that id */
  METE_EXPIRED = 4,       /* the hold's time ran out before this call */
  METE_EXCEEDS = 5,       /* a commit of more than is held */
  METE_MISMATCH = 6,      /* the id was used before, with other parameters */
  METE_WRONG_TYPE = 7,    /* not of limits */
  METE_OUT_OF_MEMORY = 8, /* a memory ceiling is reached; what exists goes on working */
  METE_UNAVAILABLE = 9    /* the disk failed; nothing is known to have happened */
} mete_status;

/* What went wrong in the last call of this thread that did not return METE_OK; valid until the next that does not. */
const char* mete_last_error(void);

/* "embedded:" keeps everything in memory, "embedded:DIR" in the directory too; one process at a time. */
mete_status mete_open(const char* url, mete_limiter** limiter);
/* NULL is no limiter, and nothing happens. */
void mete_close(mete_limiter* limiter);

typedef enum mete_kind { METE_BUCKET, METE_WINDOW, METE_SLIDING, METE_CALENDAR, METE_STOCK } mete_kind;
typedef enum mete_unit { METE_HOUR, METE_DAY, METE_WEEK, METE_MONTH, METE_YEAR } mete_unit;
/* METE_BY_KIND: always for a stock and a calendar, every second for the rest. */
typedef enum mete_durable { METE_BY_KIND, METE_ALWAYS, METE_EVERY_SECOND, METE_NOT_AT_ALL } mete_durable;

typedef struct mete_limit {
  size_t size;
  const char* name; /* up to its zero */
  mete_kind kind;
  int64_t amount;
  int64_t period_ns; /* bucket, window and sliding; else 0 */
  int64_t burst;     /* bucket; 0: the amount */
  mete_unit unit;    /* calendar */
  const char* zone;  /* calendar; NULL: UTC */
  int anchor;        /* calendar; 0: none */
  int is_shadow;     /* counts, and denies nothing */
  mete_durable durable;
} mete_limit;
#define METE_LIMIT_INIT \
  { sizeof(mete_limit), NULL, METE_BUCKET, 0, 0, 0, METE_HOUR, NULL, 0, 0, METE_BY_KIND }

/* Defines the limit, or changes it: what is in use stays in use. */
mete_status mete_define(mete_limiter* limiter, const mete_limit* limit);
/* Removes the limit and its meters. `was_defined` may be NULL. */
mete_status mete_drop(mete_limiter* limiter, const char* name, int* was_defined);

/* One charge of an operation, which has up to 16 of them: all or nothing. */
typedef struct mete_charge {
  const char* limit;
  size_t limit_size;
  const char* key;
  size_t key_size;
  int64_t cost;
} mete_charge;

typedef enum mete_mode { METE_TAKE, METE_PEEK, METE_UP_TO, METE_FORCE } mete_mode;

typedef struct mete_take_options {
  size_t size;
  mete_mode mode;
  const char* id; /* the same id with the same parameters gets the same answer, and charges once; NULL: none */
} mete_take_options;
#define METE_TAKE_OPTIONS_INIT \
  { sizeof(mete_take_options), METE_TAKE, NULL }

/* With several charges, remaining, limit and reset_after are those of the tightest one. */
typedef struct mete_decision {
  size_t size;
  int allowed;
  int unrecorded;    /* admitted though it could not be kept: the limit says on_fail = open or local */
  uint32_t violated; /* bit i: charge i did not fit; when allowed, of a shadow limit */
  int64_t taken;
  int64_t remaining;
  int64_t limit;
  int64_t retry_after_ns; /* 0 when allowed, METE_NEVER where no wait is enough */
  int64_t reset_after_ns; /* METE_NEVER for a stock */
} mete_decision;
#define METE_DECISION_INIT \
  { sizeof(mete_decision), 0, 0, 0, 0, 0, 0, 0, 0 }

/* The options may be NULL, and so may the decision, for whoever does not ask. */
mete_status mete_take(mete_limiter* limiter, const mete_charge* charges, size_t count, const mete_take_options* options,
                      mete_decision* decision);
mete_status mete_peek(mete_limiter* limiter, const mete_charge* charges, size_t count, mete_decision* decision);

/* The answer to give, commit and cancel. */
typedef struct mete_settlement {
  size_t size;
  int64_t amount; /* given back, committed, or returned by the cancel: the sum over the charges */
  int64_t remaining;
  int64_t limit;
} mete_settlement;
#define METE_SETTLEMENT_INIT \
  { sizeof(mete_settlement), 0, 0, 0 }

/* Gives back what was taken, never more than is used. The id may be NULL, and so may every settlement. */
mete_status mete_give(mete_limiter* limiter, const mete_charge* charges, size_t count, const char* id,
                      mete_settlement* settlement);

typedef struct mete_hold_options {
  size_t size;
  const char* id;  /* NULL: a random one */
  const char* tag; /* NULL: none */
} mete_hold_options;
#define METE_HOLD_OPTIONS_INIT \
  { sizeof(mete_hold_options), NULL, NULL }

/* Sets charges aside until they are committed, cancelled, or the time is over. `id` gets the hold's id, up to a zero;
 * an empty one where it was denied and had none. */
mete_status mete_hold(mete_limiter* limiter, const mete_charge* charges, size_t count, int64_t ttl_ns,
                      const mete_hold_options* options, mete_decision* decision, char id[METE_ID_BYTES]);
/* Charges all that is held, or an amount for each charge (NULL and 0: all), and returns the rest. With `overage`, what
 * goes beyond the hold is taken afresh, in the same step. */
mete_status mete_commit(mete_limiter* limiter, const char* id, const int64_t* amounts, size_t count, int overage,
                        mete_settlement* settlement);
mete_status mete_cancel(mete_limiter* limiter, const char* id, mete_settlement* settlement);
/* Lets the hold expire so long from now. */
mete_status mete_extend(mete_limiter* limiter, const char* id, int64_t ttl_ns);

typedef struct mete_usage {
  size_t size;
  int64_t used;
  int64_t held;
  int64_t remaining;
  int64_t limit;
  int64_t reset_after_ns;
} mete_usage;
#define METE_USAGE_INIT \
  { sizeof(mete_usage), 0, 0, 0, 0, 0 }

/* How the meter of a charge stands; its cost means nothing. */
mete_status mete_read_usage(mete_limiter* limiter, const mete_charge* meter, mete_usage* usage);

#ifdef __cplusplus
}
#endif
/* NOLINTEND */
