"""The binding of examples/python: what mete/c.h cannot be told is refused, and nothing is charged or defined.

It wants METE_C_LIBRARY, and the binding in PYTHONPATH: see c_api_test.sh.
"""

import unittest

import mete


class Binding(unittest.TestCase):
    def setUp(self):
        self.limiter = mete.Limiter("embedded:")
        self.addCleanup(self.limiter.close)
        self.limiter.define("credits", "stock", 50)

    def used(self):
        usage = self.limiter.usage("credits", "alice")
        return usage.used + usage.held

    def test_a_number_beyond_its_type_charges_nothing(self):
        hold = self.limiter.hold("credits", "alice", 10, ttl=60)
        calls = [
            lambda number: self.limiter.take("credits", "alice", number),
            lambda number: self.limiter.peek("credits", "alice", number),
            lambda number: self.limiter.give("credits", "alice", number),
            lambda number: self.limiter.hold("credits", "alice", number, ttl=60),
            lambda number: self.limiter.hold("credits", "alice", 1, ttl=number),
            lambda number: self.limiter.commit(hold.id, number),
            lambda number: self.limiter.extend(hold.id, number),
            lambda number: self.limiter.define("other", "stock", number),
            lambda number: self.limiter.define("other", "bucket", 1, per=1, burst=number),
            lambda number: self.limiter.define("other", "bucket", 1, per=number),
            lambda number: self.limiter.define("other", "calendar", 1, per="month", anchor=number),
        ]
        for place, call in enumerate(calls):
            for number in (2**64 + 7, 2**63, -(2**63) - 1):
                with self.subTest(call=place, number=number), self.assertRaises(ValueError):
                    call(number)
        with self.assertRaises(ValueError):
            self.limiter.define("other", "calendar", 1, per="month", anchor=2**32 + 1)
        self.assertEqual(self.used(), 10)
        with self.assertRaises(mete.Error):
            self.limiter.take("other", "alice")

    def test_what_is_no_whole_number_is_refused(self):
        for number in (1.5, "1", None):
            with self.subTest(number=number), self.assertRaises(TypeError):
                self.limiter.take("credits", "alice", number)
        self.assertEqual(self.used(), 0)

    def test_a_nul_cuts_no_name_off(self):
        calls = [
            lambda: mete.Limiter("embedded:\0"),
            lambda: self.limiter.define("x\0y", "stock", 1),
            lambda: self.limiter.define("x", "calendar", 1, per="day", zone="UTC\0"),
            lambda: self.limiter.take("credits", "alice", id="a\0b"),
            lambda: self.limiter.give("credits", "alice", id="a\0b"),
            lambda: self.limiter.hold("credits", "alice", 1, ttl=60, id="a\0b"),
            lambda: self.limiter.hold("credits", "alice", 1, ttl=60, tag="a\0b"),
            lambda: self.limiter.commit("a\0b"),
            lambda: self.limiter.cancel("a\0b"),
            lambda: self.limiter.extend("a\0b", 60),
        ]
        for place, call in enumerate(calls):
            with self.subTest(call=place), self.assertRaises(ValueError):
                call()
        with self.assertRaises(mete.Error):
            self.limiter.take("x", "alice")
        self.assertEqual(self.used(), 0)

    def test_a_key_may_have_a_nul(self):
        self.limiter.take("credits", "a\0b", 3)
        self.assertEqual(self.limiter.usage("credits", "a\0b").used, 3)
        self.assertEqual(self.limiter.usage("credits", "a").used, 0)


if __name__ == "__main__":
    unittest.main(argv=["binding_test.py"])
