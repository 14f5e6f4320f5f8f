-- Settles a round that was admitted free and whose calls were all answered, in a session that has spent nothing, by
-- tools of which none fails: no budget changes then. Goes after clean-admit.lua and journal.lua.
--
-- keys     the session's hash, its journal
-- args     born of the session at admission; "expiry ms, retries of the session, lines of the journal" with blanks between
--          them; JSON, per tool: [name, retries, 1 where it has changed something];
--          per fingerprint 32 hexadecimal digits: 4 which tool (from 1), 14 print, 14 print of its answer;
--          the round as its journal keeps it (see journal.lua), "" = not at all, "-" = there is no room for it
-- Output   1; nil where the session is not clean: then nothing has changed
-- Cost     one HMGET of two fields a tool, one RPUSH, one HSET, two PEXPIRE; one HGETALL where something has changed

local ENDING_DIGITS = 32

-- A tool's streaks after the round; nil where a named round stands.
local function streaks_with(saved, endings, position)
  if string.find(saved, '@', 1, true) then return nil end
  local at, words = string.format('%04x', position), {}
  for i = 1, #endings, ENDING_DIGITS do
    if string.sub(endings, i, i + 3) == at then
      local print, answer = string.sub(endings, i + 4, i + 17), string.sub(endings, i + 18, i + 31)
      local _, last = string.find(saved, print .. ':', 1, true)
      local same, former = string.match(saved, '^%d+:(%d+):(%x*)', (last or #saved) + 1)
      local times = former == answer and digits(same) + 1 or 1
      words[#words + 1] = string.format('%s:0:%d:%s', print, times, answer)
    end
  end
  return table.concat(words, ' ')
end

-- Whether a failure in a row may stand that a change made by this tool ends.
local function ends_failures(key, changer)
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local is_other = string.sub(fields[i], 1, 8) == 'streaks:' and fields[i] ~= 'streaks:' .. changer
    if is_other and (string.find(fields[i + 1], ':[1-9]%d*:%d+:') or string.find(fields[i + 1], '@', 1, true)) then
      return true
    end
  end
  return false
end

local function settle_clean(keys, args)
  local ttl_ms, _, cap = string.match(args[2], '^(%d+) (%d+) (%d+)$')
  local tools, fields = cjson.decode(args[3]), { 'born', 'spent' }
  for _, tool in ipairs(tools) do
    fields[#fields + 1] = 'failures:' .. tool[1]
    fields[#fields + 1] = 'streaks:' .. tool[1]
  end
  local saved, set, element = read_fields(keys[1], fields), {}, args[5]
  if saved[1] ~= args[1] or digits(saved[2]) > 0 then return nil end
  for position, tool in ipairs(tools) do
    if digits(saved[2 * position + 1]) > 0 then return nil end
    if tool[3] == 1 and ends_failures(keys[1], tool[1]) then return nil end
    local text = streaks_with(saved[2 * position + 2] or '', args[4], position)
    if not text then return nil end
    if text ~= '' then
      set[#set + 1] = 'streaks:' .. tool[1]
      set[#set + 1] = text
    end
  end
  if element == '-' then
    set[#set + 1] = 'dropped'
    set[#set + 1] = '1'
  elseif element ~= '' then
    append_journal(keys, { element }, lines_of(element), tonumber(cap))
  end
  write_clean(keys, set, ttl_ms)
  return 1
end
