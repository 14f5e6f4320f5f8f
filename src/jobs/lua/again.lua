-- A job waits again, from so many milliseconds on; goes after turns.lua.
--
-- KEYS[1]  since   KEYS[2]  the job
-- ARGV     call, after ms
-- Output   1

if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('ZADD', KEYS[1], server_ms() + tonumber(ARGV[2]), ARGV[1]) end
return 1
