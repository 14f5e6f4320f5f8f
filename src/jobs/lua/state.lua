-- How many jobs wait, and how long the oldest has; goes after turns.lua.
--
-- KEYS[1]  since   KEYS[2]  jobs by priority   KEYS[3]  jobs again   KEYS[4]  delayed jobs
-- ARGV     what stands before a job's id in its key
-- Output   { waiting, ms of the oldest, 0 where none waits }
-- Cost     one ZSCORE for the oldest job that waits, three commands for each that is there longer and does not

local now = server_ms()
-- BullMQ keeps the moment of a delayed job times 4096, for jobs of the same one.
local due = redis.call('ZCOUNT', KEYS[4], '-inf', now * 4096)
local waiting = redis.call('ZCARD', KEYS[2]) + redis.call('LLEN', KEYS[3]) + due

local function waits(call)
  if redis.call('ZSCORE', KEYS[2], call) or redis.call('LPOS', KEYS[3], call) then return true end
  local delayed = redis.call('ZSCORE', KEYS[4], call)
  return delayed and tonumber(delayed) <= now * 4096
end

-- As in offer.lua: a call that was noted so long ago and has no job was never added.
local ADDED_WITHIN_MS = 5000
local MOST_READ = 1000
local entries = redis.call('ZRANGE', KEYS[1], 0, MOST_READ - 1, 'WITHSCORES')
for position = 1, #entries, 2 do
  local call, age = entries[position], now - tonumber(entries[position + 1])
  if age < 0 then break end
  if waits(call) then return { waiting, age } end
  if age > ADDED_WITHIN_MS and redis.call('EXISTS', ARGV[1] .. call) == 0 then redis.call('ZREM', KEYS[1], call) end
end
return { waiting, 0 }
