-- Adds to a session's journal what came of a call after its answer. Goes after the files it uses.
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     born of the session at admission, expiry ms, lines of the journal, JSON
-- Output   1; nothing is written where the session has begun another life
-- Cost     one HGET, one RPUSH, one LTRIM, two PEXPIRE

if redis.call('HGET', KEYS[1], 'born') ~= ARGV[1] then return 1 end
append_journal(KEYS[2], { ARGV[4] }, tonumber(ARGV[3]))
renew(KEYS, ARGV[2])
return 1
