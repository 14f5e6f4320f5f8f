-- The turns of the tenants of one lane, at one shard: in Redis what packages/background/src/jobs/fair-lane.ts is in a process.
--
-- KEYS[1]  turns, a hash: `time`, the virtual time; `last:<tenant>`, the tag that the tenant got last; `offered_at`, ms
-- KEYS[2]  waiting, a hash: `<tag>:<tenant>` to the call that has that tag and that no worker has taken
-- KEYS[3]  since, a sorted set: each call that waits to the ms from which on
-- KEYS[4]  jobs by priority   KEYS[5]  jobs again   KEYS[6]  delayed jobs   KEYS[7]  jobs that a worker has: all four of BullMQ
-- ARGV     the step, what stands before a job's id in its key, and what the step says of itself below
--
-- The first two are gone when nothing waits, and the lane begins anew.

local turns, waiting, since, prioritized, again, delayed, active = unpack(KEYS)
local job_prefix, steps = ARGV[2], {}

local HIGHEST_TAG = 2097151
local FIRST_TAG = 1
-- A job whose adding failed leaves a tag behind that no worker takes, and its call in `since`. Adding lasts a second at most.
local ADDED_WITHIN_MS = 5000

local function server_ms()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

local function number_of(field, default)
  return tonumber(redis.call('HGET', turns, field) or default)
end

local function forget_tag(field)
  redis.call('HDEL', waiting, field)
  if redis.call('HLEN', waiting) == 0 then redis.call('DEL', turns) end
end

local function has_job(call)
  return redis.call('EXISTS', job_prefix .. call) == 1
end

-- The tag of a job that is about to be added.
-- ARGV     tenant, call
-- Output   its tag; 0 where the job is there already, and -1 where a worker has it
-- Cost     a dozen commands on small hashes
function steps.offer()
  local tenant, call = ARGV[3], ARGV[4]
  if has_job(call) then return redis.call('LPOS', active, call) and -1 or 0 end
  local now = server_ms()
  -- Where no job waits and none was offered for long, all tags that are left are of jobs that were never added.
  if now - number_of('offered_at', now) > ADDED_WITHIN_MS
    and redis.call('ZCARD', prioritized) == 0 and redis.call('LLEN', again) == 0 then
    redis.call('DEL', turns, waiting)
  end
  local tag = math.min(HIGHEST_TAG, math.max(number_of('time', FIRST_TAG), number_of('last:' .. tenant, 0) + 1))
  redis.call('HSET', turns, 'offered_at', now, 'last:' .. tenant, tag)
  redis.call('HSET', waiting, tag .. ':' .. tenant, call)
  redis.call('ZADD', since, now, call)
  return tag
end

-- A worker has taken a job.
-- ARGV     tenant, call, tag; 0 where the job comes again
-- Output   1
function steps.take()
  local call, tag, field = ARGV[4], tonumber(ARGV[5]), ARGV[5] .. ':' .. ARGV[3]
  redis.call('ZREM', since, call)
  -- A job that comes again may have the tag of a lane that has begun anew since.
  if tag == 0 or redis.call('HGET', waiting, field) ~= call then return 1 end
  if tag > number_of('time', FIRST_TAG) then redis.call('HSET', turns, 'time', tag) end
  forget_tag(field)
  return 1
end

-- A job was removed that no worker had taken.
-- ARGV     tenant, call, tag; 0 where the job was to come again
-- Output   the call whose tag is this one now, or nil
function steps.remove()
  local tenant, call, tag, field = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[5] .. ':' .. ARGV[3]
  redis.call('ZREM', since, call)
  if tag == 0 or redis.call('HGET', waiting, field) ~= call then return false end
  local last = number_of('last:' .. tenant, 0)
  local last_field = last .. ':' .. tenant
  local youngest = redis.call('HGET', waiting, last_field)
  if last == HIGHEST_TAG or not youngest then
    forget_tag(field)
    return false
  end
  redis.call('HSET', waiting, field, youngest)
  redis.call('HSET', turns, 'last:' .. tenant, last - 1)
  forget_tag(last_field)
  if last == tag then return false end
  return youngest
end

-- A job waits again, from so many milliseconds on.
-- ARGV     call, after ms
-- Output   1
function steps.again()
  if has_job(ARGV[3]) then redis.call('ZADD', since, server_ms() + tonumber(ARGV[4]), ARGV[3]) end
  return 1
end

-- How many jobs wait, and how long the oldest has.
-- Output   { waiting, ms of the oldest, 0 where none waits }
-- Cost     one ZSCORE for the oldest job that waits, three commands for each that is there longer and does not
function steps.state()
  local now, MOST_READ = server_ms(), 1000
  -- BullMQ keeps the moment of a delayed job times 4096, for jobs of the same one.
  local due = redis.call('ZCOUNT', delayed, '-inf', now * 4096)
  local count = redis.call('ZCARD', prioritized) + redis.call('LLEN', again) + due
  local function waits(call)
    if redis.call('ZSCORE', prioritized, call) or redis.call('LPOS', again, call) then return true end
    local moment = redis.call('ZSCORE', delayed, call)
    return moment and tonumber(moment) <= now * 4096
  end
  local entries = redis.call('ZRANGE', since, 0, MOST_READ - 1, 'WITHSCORES')
  for position = 1, #entries, 2 do
    local call, age = entries[position], now - tonumber(entries[position + 1])
    if age < 0 then break end
    if waits(call) then return { count, age } end
    if age > ADDED_WITHIN_MS and not has_job(call) then redis.call('ZREM', since, call) end
  end
  return { count, 0 }
end

-- The first job that waits whose tenant is none of these.
-- ARGV     tenants
-- Output   its call, or nil
-- Cost     one LRANGE, one ZRANGE, one HGET for each job before it, at most 200 of each
function steps.others()
  -- Tenants take turns: of each that has jobs waiting, one is among the first two or three of any other.
  local MOST_READ, passed = 200, {}
  for position = 3, #ARGV do passed[ARGV[position]] = true end
  local function find(calls)
    for _, call in ipairs(calls) do
      local data = redis.call('HGET', job_prefix .. call, 'data')
      if data and not passed[cjson.decode(data).tenant] then return call end
    end
    return false
  end
  return find(redis.call('LRANGE', again, -MOST_READ, -1)) or find(redis.call('ZRANGE', prioritized, 0, MOST_READ - 1))
end

return steps[ARGV[1]]()
