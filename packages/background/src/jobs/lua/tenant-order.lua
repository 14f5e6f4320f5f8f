-- Which job of a lane runs next, at one shard, so that tenants take turns: start-time fair queueing (Goyal, Vin, Cheng 1996) where
-- each job costs the same. The tag of a job is one more than that of the job before it of its tenant, and no less than the virtual
-- time, the highest tag that was taken. The lowest tag runs next, the older job among equals; one that comes again before all.
-- While a tenant has jobs waiting and starts n of them, each other tenant starts at most n + 2.
--
-- KEYS[1]  turns, a hash: `time`, the virtual time; `last:<tenant>`, the tag that the tenant got last; `offered_at`, ms
-- KEYS[2]  waiting, a hash: `<tag>:<tenant>` to the call that has that tag and that no worker has taken
-- KEYS[3]  jobs by priority   KEYS[4]  jobs again   KEYS[5]  jobs that a worker has: all three of BullMQ
-- ARGV     the step, the key of the job, the tenant, the call, and the tag; `offer` has no tag
--
-- The first two are gone when nothing waits, and the lane begins anew.

local turns, waiting, prioritized, again, active = unpack(KEYS)
local tenant, call, tag, steps = ARGV[3], ARGV[4], tonumber(ARGV[5]), {}
local last_field, field = 'last:' .. tenant, (ARGV[5] or '') .. ':' .. tenant

local HIGHEST_TAG = 2097151
local FIRST_TAG = 1
-- A job whose adding failed leaves a tag behind that no worker takes. Adding lasts a second at most.
local ADDED_WITHIN_MS = 5000

local function number_of(name, default)
  return tonumber(redis.call('HGET', turns, name) or default)
end

local function forget_tag(name)
  redis.call('HDEL', waiting, name)
  if redis.call('HLEN', waiting) == 0 then redis.call('DEL', turns) end
end

-- The tag of a job that is about to be added.
-- Output   its tag; 0 where the job is there already, and -1 where a worker has it
-- Cost     a dozen commands on small hashes
function steps.offer()
  if redis.call('EXISTS', ARGV[2]) == 1 then return redis.call('LPOS', active, call) and -1 or 0 end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- Where no job waits and none was offered for long, all tags that are left are of jobs that were never added.
  if now - number_of('offered_at', now) > ADDED_WITHIN_MS
    and redis.call('ZCARD', prioritized) == 0 and redis.call('LLEN', again) == 0 then
    redis.call('DEL', turns, waiting)
  end
  local fresh = math.min(HIGHEST_TAG, math.max(number_of('time', FIRST_TAG), number_of(last_field, 0) + 1))
  redis.call('HSET', turns, 'offered_at', now, last_field, fresh)
  redis.call('HSET', waiting, fresh .. ':' .. tenant, call)
  return fresh
end

-- A worker has taken a job. One that comes again has tag 0, or that of a lane that has begun anew since: it had its turn.
-- Output   1
function steps.take()
  if redis.call('HGET', waiting, field) ~= call then return 1 end
  if tag > number_of('time', FIRST_TAG) then redis.call('HSET', turns, 'time', tag) end
  forget_tag(field)
  return 1
end

-- A job was removed that no worker had taken: the youngest job of its tenant gets its tag, so that no gap is left.
-- Output   the call whose tag is this one now, or nil
function steps.remove()
  if redis.call('HGET', waiting, field) ~= call then return false end
  local last = number_of(last_field, 0)
  local youngest = last < HIGHEST_TAG and redis.call('HGET', waiting, last .. ':' .. tenant)
  if not youngest then
    forget_tag(field)
    return false
  end
  redis.call('HSET', waiting, field, youngest)
  redis.call('HSET', turns, last_field, last - 1)
  forget_tag(last .. ':' .. tenant)
  return last ~= tag and youngest
end

return steps[ARGV[1]]()
