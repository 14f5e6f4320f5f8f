-- The turns of the tenants of one lane, at one shard. The twin of src/jobs/fair-turns.ts; goes before the files that use it.
--
-- turns    hash: `time`, the virtual time; `last:<tenant>`, the tag that the tenant got last; `offered_at`, ms
-- waiting  hash: `<tag>:<tenant>` to the call that has that tag and that no worker has taken
--
-- Both are gone when nothing waits, and the lane begins anew.

local HIGHEST_TAG = 2097151
local FIRST_TAG = 1

local function server_ms()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

local function number_of(key, field, default)
  return tonumber(redis.call('HGET', key, field) or default)
end

local function forget_tag(turns, waiting, field)
  redis.call('HDEL', waiting, field)
  if redis.call('HLEN', waiting) == 0 then redis.call('DEL', turns) end
end

local function offer_tag(turns, waiting, tenant, call)
  local time = number_of(turns, 'time', FIRST_TAG)
  local last = number_of(turns, 'last:' .. tenant, 0)
  local tag = math.min(HIGHEST_TAG, math.max(time, last + 1))
  redis.call('HSET', turns, 'last:' .. tenant, tag)
  redis.call('HSET', waiting, tag .. ':' .. tenant, call)
  return tag
end

local function take_tag(turns, waiting, tenant, call, tag)
  local field = tag .. ':' .. tenant
  -- A job that comes again may have the tag of a lane that has begun anew since.
  if redis.call('HGET', waiting, field) ~= call then return end
  if tag > number_of(turns, 'time', FIRST_TAG) then redis.call('HSET', turns, 'time', tag) end
  forget_tag(turns, waiting, field)
end

local function remove_tag(turns, waiting, tenant, call, tag)
  local field = tag .. ':' .. tenant
  if redis.call('HGET', waiting, field) ~= call then return false end
  local last = number_of(turns, 'last:' .. tenant, 0)
  local last_field = last .. ':' .. tenant
  local youngest = redis.call('HGET', waiting, last_field)
  if last == HIGHEST_TAG or not youngest then
    forget_tag(turns, waiting, field)
    return false
  end
  redis.call('HSET', waiting, field, youngest)
  redis.call('HSET', turns, 'last:' .. tenant, last - 1)
  forget_tag(turns, waiting, last_field)
  if last == tag then return false end
  return youngest
end
