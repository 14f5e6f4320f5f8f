-- The tag of a job that is about to be added; goes after turns.lua.
--
-- KEYS[1]  turns   KEYS[2]  waiting   KEYS[3]  since   KEYS[4]  the job   KEYS[5]  jobs by priority   KEYS[6]  jobs again
-- ARGV     tenant, call
-- Output   its tag, or 0 where the job is there already
-- Cost     a dozen commands on small hashes

local tenant, call = ARGV[1], ARGV[2]
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end

local now = server_ms()
-- A job whose adding failed leaves a tag behind that no worker takes. Adding lasts a second at most: where no job waits
-- and none was offered for long, all tags that are left are such.
local ADDED_WITHIN_MS = 5000
if now - number_of(KEYS[1], 'offered_at', now) > ADDED_WITHIN_MS
  and redis.call('ZCARD', KEYS[5]) == 0 and redis.call('LLEN', KEYS[6]) == 0 then
  redis.call('DEL', KEYS[1], KEYS[2])
end
redis.call('HSET', KEYS[1], 'offered_at', now)
redis.call('ZADD', KEYS[3], now, call)
return offer_tag(KEYS[1], KEYS[2], tenant, call)
