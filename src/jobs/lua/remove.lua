-- A job was removed that no worker had taken; goes after turns.lua.
--
-- KEYS[1]  turns   KEYS[2]  waiting   KEYS[3]  since
-- ARGV     tenant, call, tag; 0 where the job was to come again
-- Output   the call whose tag is this one now, or nil

local tag = tonumber(ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[2])
if tag == 0 then return false end
return remove_tag(KEYS[1], KEYS[2], ARGV[1], ARGV[2], tag)
