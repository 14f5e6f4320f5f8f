-- Drops the results of keyed batches that have not been opened or committed since. A mark stays for each of them: its call
-- ran, and if it is a write it is not run again.
--
-- KEYS     records
-- ARGV     ms: a record that has longer to live has been used since
-- Output   for each record 1 where its results are dropped or were gone, else 0
-- Cost     one PTTL, one HGET, one TYPE, one HKEYS, one HMGET, one DEL and one HSET a record

local longest = tonumber(ARGV[1])
local now = server_now()

-- The results themselves are not read: they may be megabytes. A record of marks is as small as it gets.
local function drop(key, left)
  local names, set, others = redis.call('HKEYS', key), {}, {}
  for _, name in ipairs(names) do
    local index = string.match(name, '^result:(%d+)$')
    if index then
      set[#set + 1] = 'started:' .. index
      set[#set + 1] = '1'
    else
      others[#others + 1] = name
    end
  end
  if #set == 0 then return end
  for position, value in ipairs(read_fields(key, others)) do
    set[#set + 1] = others[position]
    set[#set + 1] = value
  end
  redis.call('DEL', key)
  in_chunks('HSET', key, set)
  if left > 0 then redis.call('PEXPIRE', key, left) end
end

local dropped = {}
for position, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  local lease = redis.pcall('HGET', key, 'lease')
  local is_held = type(lease) == 'string' and (tonumber(lease) or 0) > now
  local is_old = left <= longest and not is_held
  -- What is no hash is no record: it is not touched.
  if is_old and redis.call('TYPE', key).ok == 'hash' then drop(key, left) end
  dropped[position] = is_old and 1 or 0
end
return dropped
