-- The forms with several charges have names of their own: a driver that sends parameters without types, as node-postgres
-- does, was told that mete.take($1, $2, $3) is not unique.
alter function mete.take(jsonb, text, text) rename to take_all;
alter function mete.peek(jsonb) rename to peek_all;
alter function mete.give(jsonb, text) rename to give_all;
alter function mete.hold(jsonb, interval, text, text) rename to hold_all;
