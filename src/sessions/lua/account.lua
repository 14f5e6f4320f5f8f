-- Enters what a replica has kept, tells it what all have, and gives one replica at a time the task of dropping.
--
-- KEYS[1]  bytes by tenant, a hash; the field "" is all of them
-- KEYS[2]  order: a list of "ms tenant", one for each chunk in any log, oldest first
-- KEYS[3]  lease: a hash of holder and until (ms)
-- KEYS[4…] logs, one a tenant: lists of chunks "ms bytes word…", oldest first; a word is an entry of space-ledger.ts
-- ARGV     replica, lease ms, expiry ms, bytes above which a tenant is named, then for each log: its tenant, bytes, words
--          joined by blanks ("" = only asks)
-- Output   { 1 where this replica holds the lease else 0, ms of the server's clock, bytes of all, a tenant's bytes for each
--          log, and for the holder the tenants above the bound and their bytes }
-- Cost     one HGETALL for the holder; three writes a chunk

local FIRST_LOG, FIRST_WORD, STRIDE = 4, 5, 3
-- Where Redis is full a script that has removed something may write: this one has to, so that room is made.
redis.call('HDEL', KEYS[1], '-')
local now = server_now()

local function take_lease()
  local saved = redis.call('HMGET', KEYS[3], 'holder', 'until')
  local until_ms = tonumber(saved[2] or '') or 0
  -- A lease that ends later than any can is of a clock that was set back.
  if saved[1] ~= ARGV[1] and until_ms > now and until_ms <= now + 2 * tonumber(ARGV[2]) then return 0 end
  redis.call('HSET', KEYS[3], 'holder', ARGV[1], 'until', string.format('%d', now + tonumber(ARGV[2])))
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
  return 1
end

local of_tenants = {}
for position = 0, #KEYS - FIRST_LOG do
  local key, at = KEYS[FIRST_LOG + position], FIRST_WORD + STRIDE * position
  local tenant, bytes, words = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if words ~= '' then
    redis.call('RPUSH', key, string.format('%d %s %s', now, bytes, words))
    redis.call('PEXPIRE', key, ARGV[3])
    redis.call('RPUSH', KEYS[2], string.format('%d %s', now, tenant))
    redis.call('HINCRBY', KEYS[1], tenant, bytes)
    redis.call('HINCRBY', KEYS[1], '', bytes)
  end
  of_tenants[position + 1] = tonumber(redis.call('HGET', KEYS[1], tenant) or '') or 0
end
local holds, above = take_lease(), {}
if holds == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    if all[i] ~= '' and (tonumber(all[i + 1]) or 0) > tonumber(ARGV[4]) then
      above[#above + 1] = { all[i], tonumber(all[i + 1]) }
    end
  end
end
return { holds, now, tonumber(redis.call('HGET', KEYS[1], '') or '') or 0, of_tenants, above }
