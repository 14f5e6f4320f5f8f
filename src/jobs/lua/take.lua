-- A worker has taken a job; goes after turns.lua.
--
-- KEYS[1]  turns   KEYS[2]  waiting   KEYS[3]  since
-- ARGV     tenant, call, tag; 0 where the job comes again
-- Output   1

local tag = tonumber(ARGV[3])
if tag > 0 then take_tag(KEYS[1], KEYS[2], ARGV[1], ARGV[2], tag) end
redis.call('ZREM', KEYS[3], ARGV[2])
return 1
