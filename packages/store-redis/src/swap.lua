-- Compares the versions of 1 to 32 records and writes those that have the expected one. A record is a hash, and a list that
-- grows with it. No rule of what is in them is here.
--
-- KEYS     per record: its hash, its list
-- ARGV     1 this writer's field, which keeps the version that it wrote last; then per record: the expected version ("" = there is
--          no record); the next version, never used before ("" = nothing is written); "expiry in ms (0 = it goes: sent again it
--          finds no record, and not whether it was applied), words of fields, fields that go, elements that the list keeps, elements that are added, ms for which this writer asks to be the only one"; then
--          these words, fields and elements
-- Output   the server's time in ms; then per record: 1 where it had the expected version, and all is written; a text where
--          Redis refused; else its words and 1 where another writer is the only one now, 0 where not, and nothing is written
-- Cost     a record: HMGET, HSET, PEXPIRE; with elements RPUSH, LTRIM, PEXPIRE; HGETALL where the version is another one

local WRITER, TIME = ARGV[1], redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
-- Of a server whose clock was set back a field may lie in the future.
local LONGEST_EXCLUSIVE_MS = 50
-- Lua's unpack fails near 8,000 values.
local CHUNK = 1000

local function is_of_another(exclusive)
  local ends = tonumber(string.match(exclusive, '^%d+') or '0')
  return string.sub(exclusive, -#WRITER) ~= WRITER and ends > NOW and ends <= NOW + LONGEST_EXCLUSIVE_MS
end

local function in_chunks(command, key, first, last)
  for i = first, last, CHUNK do redis.call(command, key, unpack(ARGV, i, math.min(i + CHUNK - 1, last))) end
end

-- The version and the turn of a record. A key of another type is no record: it is taken away before it is written.
local function read(key, is_written)
  local saved = redis.pcall('HMGET', key, 'v', 'x')
  if not saved.err then return saved end
  if not string.find(saved.err, '^WRONGTYPE') then error(saved) end
  if is_written then redis.call('DEL', key) end
  return {}
end

local function append(list, first, last)
  if pcall(in_chunks, 'RPUSH', list, first, last) then return end
  redis.call('DEL', list)
  in_chunks('RPUSH', list, first, last)
end

local function swap(key, list, at, ttl, set, gone, keep, added, exclusive)
  local saved = read(key, ARGV[at] == '' and ARGV[at + 1] ~= '')
  local version, next_version = saved[1] or '', ARGV[at + 1]
  local is_closed = saved[2] and is_of_another(saved[2])
  if version ~= ARGV[at] or (is_closed and next_version ~= '') then
    if exclusive > 0 and version ~= '' and not is_closed then
      redis.call('HSET', key, 'x', string.format('%d %s', NOW + exclusive, WRITER))
    end
    return { version == '' and {} or redis.call('HGETALL', key), is_closed and 1 or 0 }
  end
  if ttl == '0' then
    redis.call('DEL', key, list)
    return 1
  end
  if next_version == '' then
    redis.call('PEXPIRE', key, ttl)
    redis.call('PEXPIRE', list, ttl)
    return 1
  end
  local first_gone = at + 3 + set
  local first_element = first_gone + gone
  redis.call('HSET', key, 'v', next_version, WRITER, next_version, unpack(ARGV, at + 3, math.min(first_gone - 1, at + 2 + CHUNK)))
  in_chunks('HSET', key, at + 3 + CHUNK, first_gone - 1)
  in_chunks('HDEL', key, first_gone, first_element - 1)
  if saved[2] and not is_closed then redis.call('HDEL', key, 'x') end
  -- Of an earlier life, whose hash was evicted. After the first write: a full Redis lets a script that removed something write.
  if version == '' then redis.call('DEL', list) end
  redis.call('PEXPIRE', key, ttl)
  if added == 0 then return 1 end
  append(list, first_element, first_element + added - 1)
  redis.call('LTRIM', list, -keep, -1)
  redis.call('PEXPIRE', list, ttl)
  return 1
end

local answers, at = { NOW }, 2
for i = 1, #KEYS, 2 do
  local ttl, set, gone, keep, added, exclusive = string.match(ARGV[at + 2], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  set, gone, added = tonumber(set), tonumber(gone), tonumber(added)
  local done, answer = pcall(swap, KEYS[i], KEYS[i + 1], at, ttl, set, gone, keep, added, tonumber(exclusive))
  answers[#answers + 1] = done and answer or (type(answer) == 'table' and answer.err or tostring(answer))
  at = at + 3 + set + gone + added
end
return answers
