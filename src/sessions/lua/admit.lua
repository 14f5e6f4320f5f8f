-- Admits a round. The twin of rules/admit-round.ts; goes after the files it uses (see redis-session-store.ts).
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     one JSON array of texts (an argument each costs the service more than all the rest of a batch of many calls):
--          batch id, round id or "", lease ms, expiry ms, retries of the session, cooldown ms, calls of the session or
--          0, rounds of it or 0, how many tools;
--          per tool: name, retries, its calls in a session or "", "1" where the same answer again and again is refused;
--          per call: which tool (from 1), fingerprint or "", "1" where limits count it
-- Output   { born, step } where every tool is free, the session has spent nothing and each call may run and has no
--          streak; else { born, step, a report per tool, a verdict per call (none where each may run without a streak) }.
--          A report's decision is free, retry, idle, or why it was denied: tool, session, running
-- Cost     clean: one HMGET of 3 fields a tool, one HSET, two PEXPIRE; else one HGETALL and what changed

local ARGV = cjson.decode(ARGV[1])
local FIRST_TOOL = 10

local function read_asked()
  local asked = {
    batch = ARGV[1], round = ARGV[2], lease_ms = tonumber(ARGV[3]), ttl_ms = ARGV[4],
    session_retries = tonumber(ARGV[5]), cooldown_ms = tonumber(ARGV[6]), max_calls = tonumber(ARGV[7]),
    max_rounds = tonumber(ARGV[8]), tools = {}, calls = {}, counted = 0, unknown = false,
  }
  local first_call = FIRST_TOOL + 4 * tonumber(ARGV[9])
  for i = FIRST_TOOL, first_call - 1, 4 do
    local tool = { name = ARGV[i], retries = tonumber(ARGV[i + 1]), max_calls = tonumber(ARGV[i + 2]) }
    tool.listed, tool.counted = 0, 0
    tool.guards_answers = ARGV[i + 3] == '1'
    asked.tools[#asked.tools + 1] = tool
    if tool.name == '_unknown' then asked.unknown = true end
  end
  for i = first_call, #ARGV, 3 do
    local tool, counts = asked.tools[tonumber(ARGV[i])], ARGV[i + 2] == '1'
    tool.listed = tool.listed + 1
    if counts then
      tool.counted = tool.counted + 1
      asked.counted = asked.counted + 1
    end
    asked.calls[#asked.calls + 1] = { tool = tool, fingerprint = ARGV[i + 1], counts = counts }
  end
  return asked
end

-- What is looked at of a session that may be clean: born, rounds, calls, and per tool whether it fails, streaks, calls.
local function read_clean(asked)
  local fields, values = { 'born', 'rounds', 'calls', 'spent', 'failures:_unknown' }, {}
  for _, tool in ipairs(asked.tools) do
    for _, prefix in ipairs({ 'failures:', 'streaks:', 'calls:' }) do fields[#fields + 1] = prefix .. tool.name end
  end
  for i = 1, #fields, 1000 do
    local last = math.min(i + 999, #fields)
    local part = redis.call('HMGET', KEYS[1], unpack(fields, i, last))
    for j = i, last do values[j] = part[j - i + 1] end
  end
  for position, tool in ipairs(asked.tools) do
    local at = 3 + 3 * position
    tool.failures, tool.streaks, tool.calls = digits(values[at]), values[at + 1] or '', digits(values[at + 2])
  end
  local troubles = digits(values[4]) + digits(values[5])
  return { born = values[1], rounds = digits(values[2]), calls = digits(values[3]), troubles = troubles }
end

-- Whether nothing that the session remembers concerns this round.
local function is_clean(asked, session)
  if session.troubles > 0 then return false end
  if asked.max_rounds > 0 and session.rounds >= asked.max_rounds then return false end
  if asked.max_calls > 0 and session.calls + asked.counted > asked.max_calls then return false end
  for _, tool in ipairs(asked.tools) do
    if tool.failures > 0 or (tool.max_calls and tool.calls + tool.counted > tool.max_calls) then return false end
  end
  for _, call in ipairs(asked.calls) do
    if call.fingerprint ~= '' and string.find(call.tool.streaks, call.fingerprint, 1, true) then return false end
  end
  return true
end

local function admit_clean(asked)
  if asked.round ~= '' or asked.unknown then return nil end
  local session = read_clean(asked)
  if not is_clean(asked, session) then return nil end
  local set = { 'rounds', string.format('%d', session.rounds + 1) }
  local function write(field, value)
    set[#set + 1] = field
    set[#set + 1] = value
  end
  if asked.counted > 0 then write('calls', string.format('%d', session.calls + asked.counted)) end
  for _, tool in ipairs(asked.tools) do
    if tool.max_calls and tool.counted > 0 then write('calls:' .. tool.name, string.format('%d', tool.calls + tool.counted)) end
  end
  if not session.born then write('born', asked.batch) end
  write_fields(KEYS[1], set, {})
  if not session.born then redis.call('DEL', KEYS[2]) end
  renew(KEYS, asked.ttl_ms)
  return { session.born or asked.batch, session.rounds + 1 }
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
  local assessed = assess_tools(session, asked, judged, let_in, now)
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
local clean = admit_clean(asked)
if clean then return clean end

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
