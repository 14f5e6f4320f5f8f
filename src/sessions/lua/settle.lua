-- Settles a round. The twin of rules/settle-round.ts; goes after the files it uses (see redis-session-store.ts).
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     first one JSON array of texts, then the lines of the journal, a JSON object each. The array:
--          born of the session at admission, expiry ms, retries of the session, lines of the journal, the round's step
--          if it has a name or else 0, calls that did not run, how many tools, how many fingerprints,
--          "1" where lines of the journal are left out for want of room;
--          per tool of the round: name, retries, decision (free, retry, or none where nothing is to be settled), claim id
--          or "", epoch at admission, outcome (failed, succeeded, mixed, neither or interrupted), text of the failure,
--          calls that did not run, "1" where it has changed something;
--          per fingerprint: which tool (from 1), fingerprint, ending (see loop-guard.lua), answer;
--          per line of the journal: which tool or 0
-- Output   per tool: a report. Where the session has begun another life nothing is written.
-- Cost     one HGETALL and what changed, one RPUSH and one LTRIM

local LINES, ARGV = ARGV, cjson.decode(ARGV[1])
local FIRST_TOOL, TOOL_STRIDE, ENDING_STRIDE = 10, 9, 4
local born, ttl_ms, session_retries, journal_cap, step = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local FIRST_ENDING = FIRST_TOOL + TOOL_STRIDE * tonumber(ARGV[7])
local FIRST_LINE = FIRST_ENDING + ENDING_STRIDE * tonumber(ARGV[8])

local function name_of(position)
  return ARGV[FIRST_TOOL + TOOL_STRIDE * (tonumber(position) - 1)]
end

local function settle_calls(session, now)
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    settle_tool(session, {
      name = ARGV[i], decision = ARGV[i + 2], retry = ARGV[i + 2] == 'retry', claim_id = ARGV[i + 3],
      epoch = digits(ARGV[i + 4]), outcome = ARGV[i + 5], failure = ARGV[i + 6],
    }, now)
    local unused = tonumber(ARGV[i + 7])
    if unused > 0 then session.calls_of[ARGV[i]] = math.max(0, calls_of(session, ARGV[i]) - unused) end
  end
  session.calls = math.max(0, session.calls - tonumber(ARGV[6]))
end

local function read_endings()
  local endings = {}
  for i = FIRST_ENDING, FIRST_LINE - 1, ENDING_STRIDE do
    local name = name_of(ARGV[i])
    endings[name] = endings[name] or {}
    table.insert(endings[name], { fingerprint = ARGV[i + 1], ending = ARGV[i + 2], answer = ARGV[i + 3] })
  end
  return endings
end

local function read_changers()
  local changers, changer_count = {}, 0
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    if ARGV[i + 8] == '1' then
      changers[ARGV[i]] = true
      changer_count = changer_count + 1
    end
  end
  return changers, changer_count
end

local function reports_of(session)
  local reports, left = {}, session_retries - spent_retries(session)
  for i = FIRST_TOOL, FIRST_ENDING - 1, TOOL_STRIDE do
    reports[#reports + 1] = report(tool_state(session, ARGV[i]), '', '', tonumber(ARGV[i + 1]), left)
  end
  return reports
end

local function read_lines(reports)
  local lines = {}
  for i = FIRST_LINE, #ARGV do
    local of_tool = reports[tonumber(ARGV[i])]
    lines[#lines + 1] = journal_text(LINES[#lines + 2], of_tool and of_tool[6])
  end
  return lines
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
  append_journal(KEYS[2], read_lines(reports), journal_cap)
  save_session(session, KEYS, ttl_ms)
  if ARGV[9] == '1' then redis.call('HSET', KEYS[1], 'dropped', '1') end
end
return reports
