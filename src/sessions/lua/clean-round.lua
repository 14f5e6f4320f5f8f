-- A clean round is admitted before anything else of admit.lua is made.

local clean = admit_clean(KEYS, ARGV)
if clean then return clean end
