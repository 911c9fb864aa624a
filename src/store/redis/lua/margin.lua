-- How much longer than needed Redis keeps something: the clock of the next master may be behind. As kMarginUs in limit_entry.h.
local margin_ms = 5000
