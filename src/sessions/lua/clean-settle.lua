-- Takes what settle.lua is told of a round, and settles a clean one: it was admitted free and all its calls were answered,
-- in a session that has spent nothing, by tools of which none fails. No budget changes then. Goes after fields.lua and
-- journal.lua, and before all else.
--
-- KEYS     the session's hash, its journal
-- ARGV     "any", the words that settle.lua names as one JSON array, the lines of the journal; or, of a round that ended so,
--          "clean"; born of the session at admission; "expiry ms, retries of the session, lines of the journal" with blanks
--          between them; JSON, per tool: [name, retries, 1 where it has changed something];
--          per fingerprint 32 hexadecimal digits: 4 which tool (from 1), 14 print, 14 print of its answer;
--          the round as its journal keeps it (see journal.lua), "" = not at all, "-" = there is no room for it
-- Output   1 where the round was clean; where its session is not, nothing has changed and settle.lua goes on
-- Cost     one HMGET of two fields a tool, one LLEN, one RPUSH, one HSET, two PEXPIRE; one HGETALL where something has changed

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
  local ttl_ms, _, cap = string.match(args[3], '^(%d+) (%d+) (%d+)$')
  local tools, fields = cjson.decode(args[4]), { 'born', 'spent' }
  for _, tool in ipairs(tools) do
    fields[#fields + 1] = 'failures:' .. tool[1]
    fields[#fields + 1] = 'streaks:' .. tool[1]
  end
  local saved, set, element = read_fields(keys[1], fields), {}, args[6]
  if saved[1] ~= args[2] or digits(saved[2]) > 0 then return nil end
  for position, tool in ipairs(tools) do
    if digits(saved[2 * position + 1]) > 0 then return nil end
    if tool[3] == 1 and ends_failures(keys[1], tool[1]) then return nil end
    local text = streaks_with(saved[2 * position + 2] or '', args[5], position)
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
  in_chunks('HSET', keys[1], set)
  renew(keys, ttl_ms)
  return 1
end

-- What settle.lua is told of a clean round whose session is not.
local function words_of_clean()
  local ttl_ms, session_retries, cap = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
  local tools = cjson.decode(ARGV[4])
  local words = {
    ARGV[2], ttl_ms, session_retries, cap, '0', '0', tostring(#tools), tostring(#ARGV[5] / ENDING_DIGITS),
    ARGV[6] == '-' and '1' or '',
  }
  for _, tool in ipairs(tools) do
    local of_tool = { tool[1], tostring(tool[2]), 'free', '', '0', 'succeeded', '', '0', tool[3] == 1 and '1' or '' }
    for _, word in ipairs(of_tool) do words[#words + 1] = word end
  end
  for i = 1, #ARGV[5], ENDING_DIGITS do
    words[#words + 1] = tostring(tonumber(string.sub(ARGV[5], i, i + 3), 16))
    words[#words + 1] = string.sub(ARGV[5], i + 4, i + 17)
    words[#words + 1] = 'a'
    words[#words + 1] = string.sub(ARGV[5], i + 18, i + 31)
  end
  return words
end

local WORDS, LINES, PACKED = nil, {}, ''
if ARGV[1] == 'any' then
  WORDS = cjson.decode(ARGV[2])
  for i = 3, #ARGV do LINES[i - 2] = ARGV[i] end
else
  if settle_clean(KEYS, ARGV) then return 1 end
  WORDS = words_of_clean()
  if ARGV[6] ~= '-' then PACKED = ARGV[6] end
end
