-- Holds the record for another lease.
--
-- KEYS[1]  the record's hash
-- ARGV     life, fence, lease ms
-- Output   1, or 0 where this try holds the record no more or has committed: nothing is written
-- Cost     one HMGET, one HEXISTS, one HSET

if not is_running(ARGV[1], ARGV[2]) then return 0 end
redis.call('HSET', key, 'lease', lease_end(ARGV[3]))
return 1
