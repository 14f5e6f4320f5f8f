-- Which calls of a round may run, as far as loop guard and limits go. The twin of rules/rounds.ts.
--
-- A verdict is an array as it goes to the caller: { 'run' }, { 'run', failed, same, answer }, { 'loop', cause, times },
-- { 'limit', of, limit }.

local RUN = { 'run' }

local function guard_call(streaks, call, tool, step)
  if call.fingerprint == '' then return RUN end
  local streak = streak_before(streaks, call.fingerprint, step)
  if streak.failed >= MAX_FAILED then return { 'loop', 'failed', streak.failed + 1 } end
  if streak.same >= MAX_SAME and tool.guards_answers then return { 'loop', 'same_answer', streak.same + 1 } end
  if streak.failed == 0 and streak.same == 0 then return RUN end
  return { 'run', streak.failed, streak.same, streak.answer }
end

-- Loop guard, then the tool's limit, call by call; neither depends on other tools.
local function judge_calls(session, asked, step)
  local verdicts, counts, streaks = {}, {}, {}
  for position, call in ipairs(asked.calls) do
    local tool, name = call.tool, call.tool.name
    streaks[name] = streaks[name] or tool_streaks(session, name)
    local verdict = guard_call(streaks[name], call, tool, step)
    if verdict[1] == 'run' and tool.max_calls and call.counts then
      counts[name] = counts[name] or calls_of(session, name)
      if counts[name] >= tool.max_calls then verdict = { 'limit', 'tool_calls', tool.max_calls } end
      if verdict[1] == 'run' then counts[name] = counts[name] + 1 end
    end
    if verdict[1] == 'run' then
      tool.has_run = true
      if not call.counts then tool.free = true end
    end
    verdicts[position] = verdict
  end
  return verdicts
end

-- Whether a tool has a call to run, as far as that can be said while only `let_in` have been asked and not denied: one
-- that loop guard and tool limit let run, and before it not so many calls that the session has none left.
local function may_run(session, asked, judged, tool, let_in)
  if tool.listed == 0 or tool.free then return true end
  if asked.max_calls == 0 then return tool.has_run == true end
  local before = session.calls
  for position, call in ipairs(asked.calls) do
    if judged[position][1] == 'run' then
      if call.tool == tool then return before < asked.max_calls end
      if call.counts and let_in[call.tool.name] then before = before + 1 end
    end
  end
  return false
end

-- The session's limit: of the calls that may run so far the first ones do, in the order of the batch.
local function limit_calls(session, asked, judged, let_in)
  local left, verdicts = asked.max_calls - session.calls, {}
  for position, call in ipairs(asked.calls) do
    local verdict = judged[position]
    if not let_in[call.tool.name] then
      verdict = RUN
    elseif verdict[1] == 'run' and call.counts then
      left = left - 1
      if asked.max_calls > 0 and left < 0 then verdict = { 'limit', 'session_calls', asked.max_calls } end
    end
    verdicts[position] = verdict
  end
  return verdicts
end

-- The tools that have something to run; where no call of one is listed they do not ask.
local function tools_with_calls(asked, verdicts)
  local listed, running = {}, {}
  for position, call in ipairs(asked.calls) do
    listed[call.tool.name] = true
    if verdicts[position][1] == 'run' then running[call.tool.name] = true end
  end
  return function(name) return running[name] or not listed[name] end
end

-- Counts the calls that are let in.
local function count_calls(session, asked, verdicts, let_in)
  for position, call in ipairs(asked.calls) do
    local name = call.tool.name
    if call.counts and verdicts[position][1] == 'run' and let_in[name] then
      session.calls = session.calls + 1
      if call.tool.max_calls then session.calls_of[name] = calls_of(session, name) + 1 end
    end
  end
end
