#!/usr/bin/env python3
"""Limits inside a Python program: a rate for requests, and credits that are held first and paid for when the work is
done. Install Mete first, or say where its library is:

    METE_C_LIBRARY=build/src/libmete_c.so.1 python3 examples/python/example.py
"""

import mete

with mete.Limiter("embedded:") as limiter:
    limiter.define("api", "bucket", 3, per=60)
    limiter.define("credits", "stock", 50)

    decisions = [limiter.take("api", "alice") for _ in range(5)]
    print(f"requests allowed: {sum(decision.allowed for decision in decisions)} of {len(decisions)}")
    print(f"try again in 20 s or less: {0 < decisions[-1].retry_after <= 20}")

    # Hold 10 credits while the work runs, then pay for the 7 it took. What is not paid for comes back.
    hold = limiter.hold("credits", "alice", 10, ttl=3600)
    limiter.commit(hold.id, 7)
    print(f"credits for 43 more: {limiter.take('credits', 'alice', 43).allowed}")
    print(f"credits for 1 more: {limiter.take('credits', 'alice').allowed}")

    try:
        limiter.take("nothing", "alice")
    except mete.Error as error:
        print(f"unknown limit: {error}")
