-- The calls of a session that have not ended. Goes after fields.lua. An entry may outlive its call: who reads takes it
-- out.
--
-- KEYS[1]  hash: key of a call → when it was entered, in ms of the server's clock, a blank, its fingerprint
-- ARGV     the step, and what it says of itself below

local key, steps = KEYS[1], {}

local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end

-- Enters a call that is about to be made.
-- ARGV     key of the call, fingerprint, most, ms that the index lives at least, alone: beside no other of its fingerprint
-- Output   known, entered, full or same: another call of this fingerprint is entered, which may have ended
-- Cost     one HEXISTS, one HLEN; one HVALS where it is to be alone; one HSET, one PTTL and one PEXPIRE where it is entered
function steps.enter()
  if redis.call('HEXISTS', key, ARGV[2]) == 1 then return 'known' end
  if ARGV[6] == 'alone' then
    for _, value in ipairs(redis.call('HVALS', key)) do
      if string.match(value, ' (.*)$') == ARGV[3] then return 'same' end
    end
  end
  if redis.call('HLEN', key) >= tonumber(ARGV[4]) then return 'full' end
  redis.call('HSET', key, ARGV[2], string.format('%d %s', server_now(), ARGV[3]))
  if redis.call('PTTL', key) < tonumber(ARGV[5]) then redis.call('PEXPIRE', key, ARGV[5]) end
  return 'entered'
end

-- Output   now, then key and value of each entry
-- Cost     one HGETALL
function steps.read()
  return { server_now(), redis.call('HGETALL', key) }
end

-- Takes out calls that have ended, or were never made.
-- ARGV     keys of calls
-- Output   1
-- Cost     one HDEL per 1 000 calls
function steps.leave()
  local gone = {}
  for i = 2, #ARGV do gone[#gone + 1] = ARGV[i] end
  in_chunks('HDEL', key, gone)
  return 1
end

return steps[ARGV[1]]()
