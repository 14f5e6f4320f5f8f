-- Drops journals of sessions that have not been used since. Goes after fields.lua, session-state.lua and loop-guard.lua.
--
-- KEYS     for each session: its hash, its journal
-- ARGV     ms: a session that has longer to live has been used since
-- Output   for each session 1 where its journal is dropped or was gone, else 0
-- Cost     one PTTL, one HGETALL, one DEL and one HSET a session
--
-- The session says from then on that lines were dropped. Of its streaks those stay that stand for a repeat: a call that
-- was made once is begun to be counted anew. The hash is written anew because Redis keeps a small one that was large once
-- as a large one.

local longest = tonumber(ARGV[1])

local function worth_keeping(saved)
  local streaks = parse_streaks(saved)
  if streaks.step ~= 0 then return saved end
  local kept = {}
  for _, streak in ipairs(streaks.before) do
    if streak.failed > 0 or streak.same > 1 then kept[#kept + 1] = streak end
  end
  streaks.before = kept
  return streaks_text(streaks)
end

local function shrink(key, left)
  local fields = redis.pcall('HGETALL', key)
  if fields.err or #fields == 0 then return end
  local set = { 'dropped', '1' }
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if string.sub(name, 1, 8) == 'streaks:' then value = worth_keeping(value) end
    if value ~= '' and name ~= 'dropped' and name ~= 'lines' then
      set[#set + 1] = name
      set[#set + 1] = value
    end
  end
  redis.call('DEL', key)
  in_chunks('HSET', key, set)
  if left > 0 then redis.call('PEXPIRE', key, left) end
end

local dropped = {}
for i = 1, #KEYS, 2 do
  local left = redis.call('PTTL', KEYS[i])
  local is_old = left <= longest
  if is_old then
    redis.call('DEL', KEYS[i + 1])
    shrink(KEYS[i], left)
  end
  dropped[#dropped + 1] = is_old and 1 or 0
end
return dropped
