-- Notes that a call begins, before it does, and holds the record for another lease.
--
-- KEYS[1]  the record's hash
-- ARGV     life, fence, lease ms, index of the call
-- Output   1, or 0 where this try holds the record no more: nothing is written, and the call must not run
-- Cost     one HMGET, one HEXISTS, one HSET

if not is_running(ARGV[1], ARGV[2]) then return 0 end
redis.call('HSET', key, 'lease', lease_end(ARGV[3]), 'started:' .. ARGV[4], '1')
return 1
