-- Takes: one charge, or several that all fit or are none of them charged. Those of buckets in their plain form are
-- charge.lua's, unless that has found that they are not.
--
-- KEYS: the meters; with an id the operation's record.
-- ARGV: what time it can be (clock.lua); mode (t, u, f, or p to look alone), whether to tell what is held, fingerprint or
--       "-", retention, epoch, whether to remember a denial; then of each meter its terms and cost (see meter.lua)
-- The answer: what happened, and the time; for a decision, which is "ok", allowed, and for each meter whether it was left
-- out, what was charged, its terms and how it stands.
local argv = ARGV
-- include clock.lua
local clock, now = times_within(argv[1])

-- include meter.lua
-- include record.lua
-- include take_decision.lua
