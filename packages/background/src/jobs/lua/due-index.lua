-- Records that have something to be done: how many there are, in all and of each holder, and when each is due. An entry may
-- outlive its record by one look: it is taken out when it is found.
--
-- KEYS[1]  sorted set: entry → when it is due, in ms of the server's clock. An entry is the JSON of [key of the record, holder]
-- KEYS[2]  hash: holder → its entries
-- ARGV     the step, ms that an index lives which is not used, and what the step says of itself below

local entries, holders, steps = KEYS[1], KEYS[2], {}

local function server_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

for _, key in ipairs(KEYS) do
  local kind, wanted = redis.call('TYPE', key).ok, key == entries and 'zset' or 'hash'
  if kind ~= wanted and kind ~= 'none' then redis.call('DEL', key) end
end

local function keep()
  redis.call('PEXPIRE', entries, ARGV[2])
  redis.call('PEXPIRE', holders, ARGV[2])
end

local function time_in(ms)
  return string.format('%d', server_now() + tonumber(ms))
end

local function enter(entry, holder, after)
  if redis.call('ZADD', entries, time_in(after), entry) == 1 then redis.call('HINCRBY', holders, holder, 1) end
  keep()
end

-- Enters a record that is about to be made.
-- ARGV     entry, holder, ms until it is due, most of a holder, most of all
-- Output   existing, entered, holder_full or full: of which there are too many
-- Cost     one ZSCORE, one HGET, one ZCARD; one ZADD, one HINCRBY, two PEXPIRE where it is entered
function steps.enter()
  local entry, holder = ARGV[3], ARGV[4]
  if redis.call('ZSCORE', entries, entry) then return 'existing' end
  if (tonumber(redis.call('HGET', holders, holder)) or 0) >= tonumber(ARGV[6]) then return 'holder_full' end
  if redis.call('ZCARD', entries) >= tonumber(ARGV[7]) then return 'full' end
  enter(entry, holder, ARGV[5])
  return 'entered'
end

-- Enters a record whatever room there is, or sets when it is due.
-- ARGV     entry, holder, ms until it is due
-- Output   1
-- Cost     one ZADD, two PEXPIRE; one HINCRBY where it was not there
function steps.enter_again()
  enter(ARGV[3], ARGV[4], ARGV[5])
  return 1
end

-- Takes out an entry.
-- ARGV     entry, holder
-- Output   1, or 0 where it was not there
-- Cost     one ZREM, one HINCRBY, one HDEL, one EXISTS
function steps.leave()
  local holder = ARGV[4]
  if redis.call('ZREM', entries, ARGV[3]) == 0 then return 0 end
  if redis.call('HINCRBY', holders, holder, -1) <= 0 then redis.call('HDEL', holders, holder) end
  -- Without entries there are none of a holder, whatever was counted.
  if redis.call('EXISTS', entries) == 0 then redis.call('DEL', holders) end
  return 1
end

-- Gives entries that are due, each to one asker, and has them due again later. One that is due further off than any can be is
-- of a clock that was set back: it is due, too.
-- ARGV     most, ms until they are due again, ms that no entry is put off for
-- Output   the server's time in ms; how many entries there are; when the next one is due; then entries, those first that were due first
-- Cost     two ZRANGEBYSCORE, one ZADD an entry, one ZCARD, one ZRANGE, two PEXPIRE
function steps.due()
  local now, most, again = server_now(), tonumber(ARGV[3]), tonumber(ARGV[4])
  local due = redis.call('ZRANGEBYSCORE', entries, '-inf', string.format('%d', now), 'LIMIT', 0, most)
  if #due < most then
    local far = string.format('(%d', now + tonumber(ARGV[5]))
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', entries, far, '+inf', 'LIMIT', 0, most - #due)) do
      due[#due + 1] = entry
    end
  end
  local next_due = string.format('%d', now + again)
  for _, entry in ipairs(due) do redis.call('ZADD', entries, next_due, entry) end
  if #due > 0 then keep() end
  local first = redis.call('ZRANGE', entries, 0, 0, 'WITHSCORES')
  return { now, redis.call('ZCARD', entries), tonumber(first[2] or now), unpack(due) }
end

-- Sets when an entry is due, unless that has been set since, or it has been taken out.
-- ARGV     entry, when it would be due, ms until it is
-- Output   1, or 0 where it is not set
-- Cost     one ZSCORE, one ZADD
function steps.put_off()
  if tonumber(redis.call('ZSCORE', entries, ARGV[3])) ~= tonumber(ARGV[4]) then return 0 end
  redis.call('ZADD', entries, time_in(ARGV[5]), ARGV[3])
  return 1
end

return steps[ARGV[1]]()
