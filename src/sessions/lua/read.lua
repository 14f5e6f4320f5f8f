-- Reads a session. Changes nothing. The twin of toSessionRecord; goes after the files it uses.
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal, which is read in pages beside this
-- Output   { rounds, calls, spent, tools, born or "", dropped }, a tool as { name, failures, used, open, ms since it failed, last
--          error, calls, highest failed and highest same of its streaks }, in no order; last 1 where lines of the journal
--          went for want of room, else 0
-- Cost     one HGETALL

local function names_of(session)
  local seen, names = {}, {}
  local function add(name)
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  for name in pairs(session.tools) do add(name) end
  for _, prefix in ipairs({ 'failures:', 'calls:', 'streaks:' }) do
    for _, name in ipairs(names_with(session, prefix)) do add(name) end
  end
  return names
end

local function record_of(session, name, now)
  local state, failed, same = tool_state(session, name), 0, 0
  for _, streak in ipairs(streaks_after(tool_streaks(session, name))) do
    failed, same = math.max(failed, streak.failed), math.max(same, streak.same)
  end
  return {
    name, state.failures, state.used, open_retries(state), math.max(0, now - state.failed_at), state.error,
    calls_of(session, name), failed, same,
  }
end

local now = server_now()
local session = load_session(KEYS[1])
expire_claims(session, now)
local spent, tools = spent_retries(session), {}
for _, name in ipairs(names_of(session)) do tools[#tools + 1] = record_of(session, name, now) end
return { session.rounds, session.calls, spent, tools, session.born, session.saved['dropped'] and 1 or 0 }
