-- The steps on the messages of one webhook endpoint; goes after fields.lua. The twin of memory-deliveries.ts.
--
-- KEYS[1]  sorted set: id of a message → when it is due, or its lease ends, in ms of the server's clock
-- KEYS[2]  hash: `<id>` → the message (`since\ntenant\nbody`), `<id>:n` → how many attempts have begun, `t:<tenant>` → how
--          many messages of a tenant there are
-- KEYS[3]  the version of the endpoint that wants no more messages
-- KEYS[4]  of `add` alone: is there once a message was kept whose id comes but once
-- ARGV     the step, and what it says of itself below
-- Cost     that of the messages it names

local due, kept = KEYS[1], KEYS[2]
local steps = {}

local function tenant_of(message)
  return 't:' .. (string.match(message, '^%d+\n([^\n]*)\n') or '')
end

local function drop(id)
  local message = redis.call('HGET', kept, id)
  redis.call('ZREM', due, id)
  redis.call('HDEL', kept, id, id .. ':n')
  if not message then return end
  local tenant = tenant_of(message)
  if redis.call('HINCRBY', kept, tenant, -1) < 1 then redis.call('HDEL', kept, tenant) end
end

-- id, message, ms that the keys live on, most messages of the endpoint, and of a tenant, 1 where the id comes but once or ''
-- → 1, 0 where too many wait
function steps.add(id, message, ttl_ms, most, most_of_tenant, once)
  if redis.call('HEXISTS', kept, id) == 1 then return 1 end
  if once == '1' and redis.call('EXISTS', KEYS[4]) == 1 then return 1 end
  local tenant = tenant_of(message)
  if redis.call('ZCARD', due) >= tonumber(most) then return 0 end
  if digits(redis.call('HGET', kept, tenant)) >= tonumber(most_of_tenant) then return 0 end
  redis.call('HINCRBY', kept, tenant, 1)
  redis.call('HSET', kept, id, message)
  if once == '1' then redis.call('SET', KEYS[4], '1', 'PX', ttl_ms) end
  redis.call('ZADD', due, string.format('%d', server_now()), id)
  renew(KEYS, ttl_ms)
  return 1
end

-- most, lease ms → ms until the next one is due or -1, how many wait, the disabled version or '', then of each message its
-- id, its attempt and itself
function steps.claim(most, lease_ms)
  local now = server_now()
  local claimed = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, tonumber(most))) do
    local message = redis.call('HGET', kept, id)
    if message then
      redis.call('ZADD', due, string.format('%d', now + tonumber(lease_ms)), id)
      claimed[#claimed + 1] = id
      claimed[#claimed + 1] = redis.call('HINCRBY', kept, id .. ':n', 1)
      claimed[#claimed + 1] = message
    else
      drop(id)
    end
  end
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  local next_ms = first[2] and math.max(0, tonumber(first[2]) - now) or -1
  local answer = { next_ms, redis.call('ZCARD', due), redis.call('GET', KEYS[3]) or '' }
  for _, word in ipairs(claimed) do answer[#answer + 1] = word end
  return answer
end

-- id, attempt, delay ms → 1; nothing changes where another attempt has begun since
function steps.reschedule(id, attempt, delay_ms)
  if redis.call('HGET', kept, id .. ':n') ~= attempt then return 1 end
  redis.call('ZADD', due, string.format('%d', server_now() + tonumber(delay_ms)), id)
  return 1
end

-- id → 1
function steps.remove(id)
  drop(id)
  return 1
end

return steps[ARGV[1]](unpack(ARGV, 2))
