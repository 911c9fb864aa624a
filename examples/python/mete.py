"""Mete in a Python program, by ctypes: limits in this process, without a server.

    limiter = mete.Limiter("embedded:limits")            # in the folder ./limits; "embedded:" alone is memory only
    limiter.define("api", "bucket", 100, per=60, burst=200)
    if limiter.take("api", "alice").allowed: …

    hold = limiter.hold("credits", "alice", 10, ttl=3600)
    limiter.commit(hold.id, 7)

The library is libmete_c.so.1, or what METE_C_LIBRARY names. Every call may be made from any thread, and other threads go
on meanwhile. What goes wrong is a mete.Error. What mete/c.h cannot be told is a ValueError or a TypeError, and nothing is
called: a number that is none, or beyond its type, a NUL in a name or an id.
"""

import ctypes
import os
from collections import namedtuple
from ctypes import Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p

_library = ctypes.CDLL(os.environ.get("METE_C_LIBRARY", "libmete_c.so.1"))
_library.mete_last_error.restype = c_char_p
_library.mete_close.argtypes = [c_void_p]
_library.mete_close.restype = None

_KINDS = ("bucket", "window", "sliding", "calendar", "stock")
_UNITS = ("hour", "day", "week", "month", "year")
_NEVER = 2**63 - 1
_ID_BYTES = 129


class _Sized(Structure):
    """A structure of mete/c.h that begins with its size."""

    def __init__(self, **values):
        super().__init__(size=ctypes.sizeof(self), **values)


class _Limit(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("kind", c_int), ("amount", c_int64), ("period_ns", c_int64),
                ("burst", c_int64), ("unit", c_int), ("zone", c_char_p), ("anchor", c_int), ("is_shadow", c_int),
                ("durable", c_int)]


class _Charge(Structure):
    _fields_ = [("limit", c_char_p), ("limit_size", c_size_t), ("key", c_char_p), ("key_size", c_size_t),
                ("cost", c_int64)]


class _TakeOptions(_Sized):
    _fields_ = [("size", c_size_t), ("mode", c_int), ("id", c_char_p)]


class _HoldOptions(_Sized):
    _fields_ = [("size", c_size_t), ("id", c_char_p), ("tag", c_char_p)]


class _Decision(_Sized):
    _fields_ = [("size", c_size_t), ("allowed", c_int), ("unrecorded", c_int), ("violated", c_uint32),
                ("taken", c_int64), ("remaining", c_int64), ("limit", c_int64), ("retry_after_ns", c_int64),
                ("reset_after_ns", c_int64)]


class _Settlement(_Sized):
    _fields_ = [("size", c_size_t), ("amount", c_int64), ("remaining", c_int64), ("limit", c_int64)]


class _Usage(_Sized):
    _fields_ = [("size", c_size_t), ("used", c_int64), ("held", c_int64), ("remaining", c_int64), ("limit", c_int64),
                ("reset_after_ns", c_int64)]


# Times are seconds; None where no wait is enough. `id` is a hold's.
Decision = namedtuple("Decision", "allowed remaining limit retry_after reset_after id")
Settlement = namedtuple("Settlement", "amount remaining limit")
Usage = namedtuple("Usage", "used held remaining limit")


class Error(Exception):
    """What went wrong: the code of mete/c.h and its words."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _check(status):
    if status != 0:
        raise Error(status, _library.mete_last_error().decode())


def _bytes(text):
    """Any bytes, for what is passed with its size: keys."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode()
    raise TypeError(f"text or bytes are expected, and not {text!r}")


def _text(text):
    """What C ends at its zero: a NUL in it would cut it off. None is None."""
    if text is None:
        return None
    text = _bytes(text)
    if b"\0" in text:
        raise ValueError(f"a NUL is in {text!r}")
    return text


def _whole(number, bits=64):
    """ctypes takes the lower bits of a number that is too large, and says nothing."""
    if not isinstance(number, int):
        raise TypeError(f"a whole number is expected, and not {number!r}")
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"{number} has more than {bits} bits")
    return number


def _charge(limit, key, cost):
    limit, key = _bytes(limit), _bytes(key)
    return _Charge(limit, len(limit), key, len(key), _whole(cost))


def _ns(seconds):
    return _whole(round(seconds * 1_000_000_000))


def _seconds(ns):
    return None if ns == _NEVER else ns / 1_000_000_000


def _decision(answer, hold_id=None):
    return Decision(bool(answer.allowed), answer.remaining, answer.limit, _seconds(answer.retry_after_ns),
                    _seconds(answer.reset_after_ns), hold_id)


class Limiter:
    def __init__(self, url):
        self._limiter = c_void_p()
        _check(_library.mete_open(_text(url), byref(self._limiter)))

    def close(self):
        _library.mete_close(self._limiter)
        self._limiter = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def define(self, name, kind, amount, per=0, burst=0, zone=None, anchor=0, shadow=False):
        """`per` is seconds, or of a calendar "hour", "day", "week", "month" or "year"."""
        is_unit = isinstance(per, str)
        limit = _Limit(name=_text(name), kind=_KINDS.index(kind), amount=_whole(amount), burst=_whole(burst), zone=_text(zone),
                       period_ns=0 if is_unit else _ns(per), unit=_UNITS.index(per) if is_unit else 0,
                       anchor=_whole(anchor, 32), is_shadow=int(bool(shadow)))
        _check(_library.mete_define(self._limiter, byref(limit)))

    def take(self, limit, key, cost=1, id=None):
        charge, answer, options = _charge(limit, key, cost), _Decision(), _TakeOptions(id=_text(id))
        _check(_library.mete_take(self._limiter, byref(charge), c_size_t(1), byref(options), byref(answer)))
        return _decision(answer)

    def peek(self, limit, key, cost=1):
        charge, answer = _charge(limit, key, cost), _Decision()
        _check(_library.mete_peek(self._limiter, byref(charge), c_size_t(1), byref(answer)))
        return _decision(answer)

    def give(self, limit, key, cost=1, id=None):
        charge, answer = _charge(limit, key, cost), _Settlement()
        _check(_library.mete_give(self._limiter, byref(charge), c_size_t(1), _text(id), byref(answer)))
        return Settlement(answer.amount, answer.remaining, answer.limit)

    def hold(self, limit, key, cost, ttl, id=None, tag=None):
        charge, answer, options = _charge(limit, key, cost), _Decision(), _HoldOptions(id=_text(id), tag=_text(tag))
        hold_id = ctypes.create_string_buffer(_ID_BYTES)
        _check(_library.mete_hold(self._limiter, byref(charge), c_size_t(1), c_int64(_ns(ttl)), byref(options),
                                  byref(answer), hold_id))
        return _decision(answer, hold_id.value.decode() or None)

    def commit(self, id, amount=None):
        answer = _Settlement()
        amounts = None if amount is None else (c_int64 * 1)(_whole(amount))
        count = c_size_t(0 if amount is None else 1)
        _check(_library.mete_commit(self._limiter, _text(id), amounts, count, 0, byref(answer)))
        return Settlement(answer.amount, answer.remaining, answer.limit)

    def cancel(self, id):
        answer = _Settlement()
        _check(_library.mete_cancel(self._limiter, _text(id), byref(answer)))
        return Settlement(answer.amount, answer.remaining, answer.limit)

    def extend(self, id, ttl):
        _check(_library.mete_extend(self._limiter, _text(id), c_int64(_ns(ttl))))

    def usage(self, limit, key):
        meter, answer = _charge(limit, key, 0), _Usage()
        _check(_library.mete_read_usage(self._limiter, byref(meter), byref(answer)))
        return Usage(answer.used, answer.held, answer.remaining, answer.limit)
