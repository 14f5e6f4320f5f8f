-- Keeps results, and with the last of them ends the lease.
--
-- KEYS[1]  the record's hash
-- ARGV     life, fence, lease ms, expiry ms, more or last, then per call: index, result, or '' where the call is to run
--          again with the same key
-- Output   1, or 0 where another try has begun: nothing is written
-- Cost     one HMGET, one HSET and one HDEL per 500 calls, one PEXPIRE

local is_last, FIRST = ARGV[5] == 'last', 6

if not is_ours(ARGV[1], ARGV[2]) then return 0 end
local set, gone = {}, {}
for i = FIRST, #ARGV, 2 do
  gone[#gone + 1] = 'started:' .. ARGV[i]
  if ARGV[i + 1] ~= '' then
    set[#set + 1] = 'result:' .. ARGV[i]
    set[#set + 1] = ARGV[i + 1]
  end
end
set[#set + 1] = is_last and 'committed' or 'lease'
set[#set + 1] = is_last and '1' or lease_end(ARGV[3])
if is_last then gone[#gone + 1] = 'lease' end
in_chunks('HSET', set)
in_chunks('HDEL', gone)
redis.call('PEXPIRE', key, ARGV[4])
return 1
