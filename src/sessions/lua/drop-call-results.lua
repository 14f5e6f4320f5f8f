-- Drops the results of pending calls that ended and were not asked for anew since. What the call came to stays: its result
-- without the value.
--
-- KEYS     records
-- ARGV     ms: a record that has longer to live has ended since
-- Output   for each record 1 where its result is dropped or was gone, else 0
-- Cost     one PTTL, one TYPE, one HMGET, one HSET and one HDEL a record

local longest = tonumber(ARGV[1])

local function drop(key)
  local saved = redis.call('HMGET', key, 'state', 'brief')
  if saved[1] ~= 'ended' or not saved[2] or saved[2] == '' then return end
  redis.call('HDEL', key, 'brief')
  redis.call('HSET', key, 'result', saved[2])
end

local dropped = {}
for position, key in ipairs(KEYS) do
  local is_old = redis.call('PTTL', key) <= longest
  -- What is no hash is no record: it is not touched.
  if is_old and redis.call('TYPE', key).ok == 'hash' then drop(key) end
  dropped[position] = is_old and 1 or 0
end
return dropped
