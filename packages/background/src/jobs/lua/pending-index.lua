-- The calls of all sessions and keys that have not ended: how many there are, and which of them nobody has looked at
-- for a while. An entry may outlive its call by one look: who looks takes it out.
--
-- KEYS[1]  sorted set: entry → when it is looked at next, in ms of the server's clock. An entry is the JSON of [key of the
--          call, its holder]: `key:` and the hash of its API key, or its caller where it came without one
-- KEYS[2]  hash: holder → its entries
-- ARGV     the step, ms that an index lives which nobody uses, and what the step says of itself below

local calls, holders, steps = KEYS[1], KEYS[2], {}

local function server_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

for _, key in ipairs(KEYS) do
  local kind, wanted = redis.call('TYPE', key).ok, key == calls and 'zset' or 'hash'
  if kind ~= wanted and kind ~= 'none' then redis.call('DEL', key) end
end

local function keep()
  redis.call('PEXPIRE', calls, ARGV[2])
  redis.call('PEXPIRE', holders, ARGV[2])
end

local function time_in(ms)
  return string.format('%d', server_now() + tonumber(ms))
end

local function enter(entry, holder, look_after)
  if redis.call('ZADD', calls, time_in(look_after), entry) == 1 then redis.call('HINCRBY', holders, holder, 1) end
  keep()
end

-- Enters a call that is about to be made.
-- ARGV     entry, holder, ms until it is looked at, most of a holder, most of all
-- Output   known, entered, key or service: of which there are too many
-- Cost     one ZSCORE, one ZCARD, one HGET; one ZADD, one HINCRBY, two PEXPIRE where it is entered
function steps.enter()
  local entry, holder = ARGV[3], ARGV[4]
  if redis.call('ZSCORE', calls, entry) then return 'known' end
  if redis.call('ZCARD', calls) >= tonumber(ARGV[7]) then return 'service' end
  if (tonumber(redis.call('HGET', holders, holder)) or 0) >= tonumber(ARGV[6]) then return 'key' end
  enter(entry, holder, ARGV[5])
  return 'entered'
end

-- Enters a call that is in the store, or sets when it is looked at.
-- ARGV     entry, holder, ms until it is looked at
-- Output   1
-- Cost     one ZADD, two PEXPIRE; one HINCRBY where it was not there
function steps.enter_again()
  enter(ARGV[3], ARGV[4], ARGV[5])
  return 1
end

-- Takes out a call that has ended, or was never made.
-- ARGV     entry, holder
-- Output   1, or 0 where it was not there
-- Cost     one ZREM, one HINCRBY, one HDEL, one EXISTS
function steps.leave()
  local holder = ARGV[4]
  if redis.call('ZREM', calls, ARGV[3]) == 0 then return 0 end
  if redis.call('HINCRBY', holders, holder, -1) <= 0 then redis.call('HDEL', holders, holder) end
  -- Without calls there are none of a holder, whatever was counted.
  if redis.call('EXISTS', calls) == 0 then redis.call('DEL', holders) end
  return 1
end

-- A look that is further off than any can be is of a clock that was set back: its time has come, too.
local FURTHEST_LOOK_MS = 30000

-- Gives the calls whose time has come, each to one asker, and puts off the next look at them.
-- ARGV     most, ms until they are looked at next
-- Output   the server's time in ms; then entries, those first whose time came first
-- Cost     two ZRANGEBYSCORE, one ZADD an entry, two PEXPIRE
function steps.due()
  local now, most, again = server_now(), tonumber(ARGV[3]), tonumber(ARGV[4])
  local due = redis.call('ZRANGEBYSCORE', calls, '-inf', string.format('%d', now), 'LIMIT', 0, most)
  if #due < most then
    local far = string.format('(%d', now + FURTHEST_LOOK_MS)
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', calls, far, '+inf', 'LIMIT', 0, most - #due)) do
      due[#due + 1] = entry
    end
  end
  local next_look = string.format('%d', now + again)
  for _, entry in ipairs(due) do redis.call('ZADD', calls, next_look, entry) end
  if #due > 0 then keep() end
  return { now, unpack(due) }
end

-- Sets when a call is looked at next, unless that has been set since, or it has been taken out.
-- ARGV     entry, when it would be looked at, ms until it is
-- Output   1, or 0 where it is not set
-- Cost     one ZSCORE, one ZADD
function steps.look_again()
  if tonumber(redis.call('ZSCORE', calls, ARGV[3])) ~= tonumber(ARGV[4]) then return 0 end
  redis.call('ZADD', calls, time_in(ARGV[5]), ARGV[3])
  return 1
end

return steps[ARGV[1]]()
