-- Settles a round. The twin of rules/rounds.ts; goes after the files it uses (see redis-session-store.ts).
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- WORDS    of clean-settle.lua, an array of texts:
--          born of the session at admission, expiry ms, retries of the session, lines of the journal, the round's step
--          if it has a name or else 0, calls that did not run, how many tools, how many fingerprints,
--          "1" where lines of the journal are left out for want of room;
--          per tool of the round: name, retries, decision (free, retry, late: a retry that was given
--          back with its batch; or none where nothing is to be settled), claim id
--          or "", epoch at admission, outcome (failed, succeeded, mixed, neither or interrupted), text of the failure,
--          calls that did not run, "1" where it has changed something;
--          per fingerprint: which tool (from 1), fingerprint, ending (see loop-guard.lua), answer;
--          per line of the journal: which tool or 0
-- LINES    the lines of the journal, a JSON object each; or PACKED, the round as its journal keeps it
-- Output   per tool: a report. Where the session has begun another life nothing is written.
-- Cost     one HGETALL and what changed, one RPUSH and one LTRIM

local FIRST_TOOL, TOOL_STRIDE, ENDING_STRIDE = 10, 9, 4
local born, ttl_ms, session_retries, journal_cap, step = WORDS[1], WORDS[2], tonumber(WORDS[3]), tonumber(WORDS[4]), tonumber(WORDS[5])
local FIRST_ENDING = FIRST_TOOL + TOOL_STRIDE * tonumber(WORDS[7])
local FIRST_LINE = FIRST_ENDING + ENDING_STRIDE * tonumber(WORDS[8])

local function name_of(position)
  return WORDS[FIRST_TOOL + TOOL_STRIDE * (tonumber(position) - 1)]
end

local function settle_calls(session, now)
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    settle_tool(session, {
      name = WORDS[i], decision = WORDS[i + 2], retry = WORDS[i + 2] == 'retry' or WORDS[i + 2] == 'late', claim_id = WORDS[i + 3],
      epoch = digits(WORDS[i + 4]), outcome = WORDS[i + 5], failure = WORDS[i + 6],
    }, now)
    local unused = tonumber(WORDS[i + 7])
    if unused > 0 then session.calls_of[WORDS[i]] = math.max(0, calls_of(session, WORDS[i]) - unused) end
  end
  session.calls = math.max(0, session.calls - tonumber(WORDS[6]))
end

local function read_endings()
  local endings = {}
  for i = FIRST_ENDING, FIRST_LINE - 1, ENDING_STRIDE do
    local name = name_of(WORDS[i])
    endings[name] = endings[name] or {}
    table.insert(endings[name], { fingerprint = WORDS[i + 1], ending = WORDS[i + 2], answer = WORDS[i + 3] })
  end
  return endings
end

local function read_changers()
  local changers, changer_count = {}, 0
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    if WORDS[i + 8] == '1' then
      changers[WORDS[i]] = true
      changer_count = changer_count + 1
    end
  end
  return changers, changer_count
end

local function reports_of(session)
  local reports, left = {}, session_retries - spent_retries(session)
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    reports[#reports + 1] = report(tool_state(session, WORDS[i]), '', '', tonumber(WORDS[i + 1]), left)
  end
  return reports
end

local function read_lines(reports)
  local lines = {}
  for i = FIRST_LINE, #WORDS do
    local of_tool = reports[tonumber(WORDS[i])]
    lines[#lines + 1] = journal_text(LINES[#lines + 1], of_tool and of_tool[6])
  end
  return lines
end

-- The round as its journal keeps it, with what its tools have left now.
local function packed_with(reports)
  local head, rest = string.match(PACKED, '^([^\n]*)(\n.*)$')
  local words = cjson.decode(head)
  for position, of_tool in ipairs(reports) do words[2 * position + 1] = of_tool[6] end
  return cjson.encode(words) .. rest
end

local now = server_now()
local session = load_session(KEYS[1])
local current = session.born == born
expire_claims(session, now)
if current then
  settle_calls(session, now)
  local changers, changer_count = read_changers()
  settle_streaks(session, read_endings(), changers, changer_count, step)
end
local reports = reports_of(session)
if current then
  local elements = PACKED == '' and read_lines(reports) or { packed_with(reports) }
  append_journal(KEYS, elements, PACKED == '' and #elements or lines_of(PACKED), journal_cap)
  save_session(session, KEYS, ttl_ms)
  if WORDS[9] == '1' then redis.call('HSET', KEYS[1], 'dropped', '1') end
end
return reports
