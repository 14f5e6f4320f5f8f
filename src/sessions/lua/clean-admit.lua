-- Admits a clean round: it has no name, names known tools only, and nothing that its session remembers concerns it. Goes
-- after fields.lua and before all else, so that what other rounds need is not even made.
--
-- KEYS     the session's hash, its journal
-- ARGV     batch id; round id or ""; "lease ms, expiry ms, retries of the session, cooldown ms, calls of the session or 0,
--          rounds of it or 0, calls that limits count" with blanks between them;
--          JSON, per tool: [name, retries, its calls in a session or "", 1 where the same answer again and again is refused];
--          per call 20 hexadecimal digits: 4 which tool (from 1), 2 flags (1 = limits count it, 2 = it has a print), 14 print
-- Output   { born, step }; nil where the round is not clean: then nothing has changed
-- Cost     one HMGET of 3 fields a tool, one HSET, two PEXPIRE

local CALL_DIGITS, COUNTS, HAS_PRINT = 20, 1, 2

-- How many of a tool's calls limits count; nil where one of all its calls has a streak.
local function count_new(calls, position, streaks)
  local at, counted = string.format('%04x', position), 0
  for i = 1, #calls, CALL_DIGITS do
    if string.sub(calls, i, i + 3) == at then
      local flags = tonumber(string.sub(calls, i + 5, i + 5))
      if flags >= HAS_PRINT then
        if string.find(streaks, string.sub(calls, i + 6, i + CALL_DIGITS - 1), 1, true) then return nil end
        flags = flags - HAS_PRINT
      end
      if flags == COUNTS then counted = counted + 1 end
    end
  end
  return counted
end

local TERMS = '^%d+ (%d+) %d+ %d+ (%d+) (%d+) (%d+)$'

local function admit_clean(keys, args)
  if args[2] ~= '' then return nil end
  local ttl_ms, max_calls, max_rounds, counted = string.match(args[3], TERMS)
  local tools, fields = cjson.decode(args[4]), { 'born', 'rounds', 'calls', 'spent', 'failures:_unknown' }
  for _, tool in ipairs(tools) do
    local name = tool[1]
    if name == '_unknown' then return nil end
    fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = 'failures:' .. name, 'streaks:' .. name, 'calls:' .. name
  end
  local saved = read_fields(keys[1], fields)
  if digits(saved[4]) + digits(saved[5]) > 0 then return nil end
  local rounds, calls = digits(saved[2]) + 1, digits(saved[3]) + tonumber(counted)
  if max_rounds ~= '0' and rounds > tonumber(max_rounds) then return nil end
  if max_calls ~= '0' and calls > tonumber(max_calls) then return nil end
  local set = { 'rounds', string.format('%d', rounds) }
  if counted ~= '0' then set[3], set[4] = 'calls', string.format('%d', calls) end
  for position, tool in ipairs(tools) do
    local at, limit = 3 + 3 * position, tonumber(tool[3])
    if digits(saved[at]) > 0 then return nil end
    local streaks = saved[at + 1]
    if streaks or limit then
      local of_tool = count_new(args[5], position, streaks or '')
      if not of_tool or (limit and digits(saved[at + 2]) + of_tool > limit) then return nil end
      if limit and of_tool > 0 then
        set[#set + 1] = 'calls:' .. tool[1]
        set[#set + 1] = string.format('%d', digits(saved[at + 2]) + of_tool)
      end
    end
  end
  if not saved[1] then
    set[#set + 1] = 'born'
    set[#set + 1] = args[1]
  end
  in_chunks('HSET', keys[1], set)
  renew(keys, ttl_ms)
  -- After the first write: where Redis is full a script that has removed something may write.
  if not saved[1] then redis.call('DEL', keys[2]) end
  return { saved[1] or args[1], rounds }
end

local clean = admit_clean(KEYS, ARGV)
if clean then return clean end
