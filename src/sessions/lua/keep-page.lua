-- Keeps the token of one page of a session, and at most `most` of them: the page that came first goes first.
--
-- KEYS[1]  the session's pages, a hash: page → token, `slot:<n>` → the page that came there, `count` of all that came
-- ARGV     the page, its token ("" = forget it), expiry ms, most
-- Output   1
-- Cost     the same for any number of pages

local key, page, token, ttl_ms, most = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

-- Not where there is none: a script that has written may go on writing where Redis is full.
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
if token == '' then
  redis.call('HDEL', key, page)
  return 1
end
if redis.call('HSET', key, page, token) == 1 then
  local count = tonumber(redis.call('HGET', key, 'count') or '') or 0
  local slot = 'slot:' .. string.format('%d', count % most)
  local before = redis.call('HGET', key, slot)
  if before and before ~= page then redis.call('HDEL', key, before) end
  redis.call('HSET', key, slot, page, 'count', string.format('%d', count + 1))
end
redis.call('PEXPIRE', key, ttl_ms)
return 1
