-- Whether something has happened to calls that requests and streams wait for.
--
-- KEYS[n]  the record of a call, as in pending-call.lua
-- Output   for each: 'ended', also where there is no record; else its progress, '' before the first
-- Cost     one HMGET a record

local versions = {}
for i, key in ipairs(KEYS) do
  -- What is no hash is no record.
  local saved = redis.pcall('HMGET', key, 'state', 'progress')
  local lives = not saved.err and (saved[1] == 'queued' or saved[1] == 'running')
  versions[i] = lives and (saved[2] or '') or 'ended'
end
return versions
