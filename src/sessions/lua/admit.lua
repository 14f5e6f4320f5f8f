-- Admits a round. The twin of rules/rounds.ts; goes after the files it uses (see redis-session-store.ts).
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     see clean-admit.lua, which goes first and has found that the round is not clean
-- Output   { born, step, a report per tool, a verdict per call (none where each may run without a streak) }. A report's
--          decision is free, retry, idle, or why it was denied: tool, session, running
-- Cost     one HGETALL and what changed

local function read_asked()
  local terms = {}
  for number in string.gmatch(ARGV[3], '%d+') do terms[#terms + 1] = tonumber(number) end
  local asked = {
    batch = ARGV[1], round = ARGV[2], lease_ms = terms[1], ttl_ms = terms[2], session_retries = terms[3],
    cooldown_ms = terms[4], max_calls = terms[5], max_rounds = terms[6], tools = {}, calls = {}, counted = terms[7],
    unknown = false,
  }
  for position, words in ipairs(cjson.decode(ARGV[4])) do
    local tool = { name = words[1], retries = words[2], max_calls = tonumber(words[3]), listed = 0, counted = 0 }
    tool.guards_answers = words[4] == 1
    asked.tools[position] = tool
    if tool.name == '_unknown' then asked.unknown = true end
  end
  for i = 1, #ARGV[5], CALL_DIGITS do
    local tool, flags = asked.tools[tonumber(string.sub(ARGV[5], i, i + 3), 16)], string.sub(ARGV[5], i + 4, i + 5)
    local call = { tool = tool, fingerprint = '', counts = flags == '01' or flags == '03' }
    if flags == '02' or flags == '03' then call.fingerprint = string.sub(ARGV[5], i + 6, i + CALL_DIGITS - 1) end
    tool.listed = tool.listed + 1
    if call.counts then tool.counted = tool.counted + 1 end
    asked.calls[#asked.calls + 1] = call
  end
  return asked
end

-- A session has not more named rounds under way at once.
local MAX_NAMED_ROUNDS = 16

-- Counts a round, a named one once: its step, and whether it was begun, joined, or refused as one too many.
local function count_round(session, asked, now)
  local kept, joined = {}, nil
  for _, named in ipairs(session.named) do
    if named.join_until > now then
      kept[#kept + 1] = named
      if asked.round ~= '' and named.id == asked.round then joined = joined or named end
    end
  end
  session.named = kept
  if joined then return joined.step, 'joined' end
  local step = session.rounds + 1
  if asked.max_rounds > 0 and step > asked.max_rounds then return step, 'refused' end
  session.rounds = step
  if asked.round ~= '' then
    kept[#kept + 1] = { id = asked.round, step = step, join_until = now + asked.lease_ms }
    while #kept > MAX_NAMED_ROUNDS do table.remove(kept, 1) end
  end
  return step, 'begun'
end

local function reports_of(session, assessed, taken, asked)
  local reports, left = {}, asked.session_retries - spent_retries(session)
  for position, assessment in ipairs(assessed) do
    local decision, claim_id = unpack(taken[position])
    reports[position] = report(assessment.state, decision, claim_id, assessment.tool.retries, left)
  end
  return reports
end

-- One round too many: nothing of it runs, and nothing changes.
local function refuse_round(session, asked)
  local assessed, taken, verdicts = {}, {}, {}
  for position, tool in ipairs(asked.tools) do
    assessed[position] = { state = tool_state(session, tool.name), tool = tool }
    taken[position] = { take_nothing(assessed[position]) }
  end
  for position in ipairs(asked.calls) do verdicts[position] = { 'limit', 'session_rounds', asked.max_rounds } end
  return reports_of(session, assessed, taken, asked), verdicts
end

local function admit_tools(session, asked, step, now)
  forgive_unknown_names(session, asked, now)
  local judged = judge_calls(session, asked, asked.round == '' and 0 or step)
  local let_in = {}
  local function has_call_so_far(tool) return may_run(session, asked, judged, tool, let_in) end
  local assessed = assess_tools(session, asked, has_call_so_far, let_in, now)
  local verdicts = limit_calls(session, asked, judged, let_in)
  count_calls(session, asked, verdicts, let_in)
  local has_call, taken = tools_with_calls(asked, verdicts), {}
  for position, assessment in ipairs(assessed) do
    local take = has_call(assessment.tool.name) and take_retry or take_nothing
    taken[position] = { take(assessment, asked, now) }
  end
  return reports_of(session, assessed, taken, asked), verdicts
end

local function told_verdicts(verdicts)
  for _, verdict in ipairs(verdicts) do
    if #verdict > 1 then return verdicts end
  end
  return {}
end

local asked = read_asked()
local now = server_now()
local session = load_session(KEYS[1])
local is_new = session.born == ''
if is_new then session.born = asked.batch end
expire_claims(session, now)
local step, kind = count_round(session, asked, now)
local admit = kind == 'refused' and refuse_round or admit_tools
local reports, verdicts = admit(session, asked, step, now)
save_session(session, KEYS, asked.ttl_ms)
if is_new then redis.call('DEL', KEYS[2]) end
return { session.born, step, reports, told_verdicts(verdicts) }
