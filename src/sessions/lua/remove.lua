-- Takes the oldest chunk out of a tenant's log once what it names is dropped, and its place out of the order.
--
-- KEYS[1]  bytes by tenant        KEYS[2]  order        KEYS[3]  the tenant's log
-- ARGV     tenant, the chunk or "", its bytes, its place in the order or ""
-- Output   1. What is not the oldest any more stays.
-- Cost     at most two LINDEX, two LPOP and four writes to the hash

local tenant, chunk, bytes, place = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local function take_bytes(amount)
  for _, field in ipairs({ tenant, '' }) do
    local left = math.max(0, (tonumber(redis.call('HGET', KEYS[1], field) or '') or 0) - amount)
    redis.call('HSET', KEYS[1], field, string.format('%d', left))
  end
end

if place ~= '' and redis.call('LINDEX', KEYS[2], 0) == place then redis.call('LPOP', KEYS[2]) end
if chunk ~= '' and redis.call('LINDEX', KEYS[3], 0) == chunk then
  redis.call('LPOP', KEYS[3])
  take_bytes(bytes)
end
if redis.call('EXISTS', KEYS[3]) == 0 then
  -- What is left over came of a log that expired.
  local left = tonumber(redis.call('HGET', KEYS[1], tenant) or '') or 0
  redis.call('HDEL', KEYS[1], tenant)
  if left > 0 then take_bytes(left) end
  redis.call('HDEL', KEYS[1], tenant)
end
return 1
