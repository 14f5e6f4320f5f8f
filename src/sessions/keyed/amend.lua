-- Replaces a committed result. Where another try has begun, or none is committed, nothing is written.
--
-- KEYS[1]  the record's hash
-- ARGV     life, fence, index of the call, result
-- Output   1 where it was replaced, else 0
-- Cost     one HMGET, one HEXISTS, one HSET

local field = 'result:' .. ARGV[3]
if redis.call('HGET', key, 'life') ~= ARGV[1] or redis.call('HEXISTS', key, field) == 0 then return 0 end
redis.call('HSET', key, field, ARGV[4])
return 1
