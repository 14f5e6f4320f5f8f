-- Drops the results of keyed batches that have not been opened or committed since. A mark stays for each of them: its call
-- ran, and if it is a write it is not run again.
--
-- KEYS     records
-- ARGV     ms: a record that has longer to live has been used since
-- Output   for each record 1 where its results are dropped or were gone, else 0
-- Cost     one PTTL, one HGETALL, one DEL and one HSET a record

local longest = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function write_fields(key, set)
  for i = 1, #set, 1000 do redis.call('HSET', key, unpack(set, i, math.min(i + 999, #set))) end
end

-- Only where results are among the fields: a record of marks is as small as it gets.
local function drop(key, fields, left)
  local set, results = {}, 0
  for i = 1, #fields, 2 do
    local index = string.match(fields[i], '^result:(%d+)$')
    if index then results = results + 1 end
    set[#set + 1] = index and 'started:' .. index or fields[i]
    set[#set + 1] = index and '1' or fields[i + 1]
  end
  if results == 0 then return end
  redis.call('DEL', key)
  write_fields(key, set)
  if left > 0 then redis.call('PEXPIRE', key, left) end
end

local dropped = {}
for position, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  local lease = redis.pcall('HGET', key, 'lease')
  local is_held = type(lease) == 'string' and (tonumber(lease) or 0) > now
  local is_old = left <= longest and not is_held
  local fields = is_old and redis.pcall('HGETALL', key) or {}
  if is_old and not fields.err and #fields > 0 then drop(key, fields, left) end
  dropped[position] = is_old and 1 or 0
end
return dropped
