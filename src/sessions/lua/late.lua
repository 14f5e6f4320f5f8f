-- Adds to a session's journal what came of a call after its answer. Goes after the files it uses.
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     born of the session at admission, expiry ms, lines of the journal, JSON
-- Output   1; nothing is written where the session has begun another life
-- Cost     two HGET, one LLEN, one RPUSH, one LTRIM, one HSET, two PEXPIRE

if redis.call('HGET', KEYS[1], 'born') ~= ARGV[1] then return 1 end
append_journal(KEYS, { ARGV[4] }, 1, tonumber(ARGV[3]), true)
renew(KEYS, ARGV[2])
return 1
