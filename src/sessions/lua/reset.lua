-- Makes one tool of a session fresh, or all. The twin of resetSession; goes after the files it uses.
--
-- KEYS[1]  the session's hash        KEYS[2]  its journal
-- ARGV     expiry ms, then the tool's name; none = all, and the session's lost retries with them
-- Output   1; nothing is written where there is no session
-- Cost     one HGETALL and what changed

local ttl_ms, only = ARGV[1], ARGV[2]

local session = load_session(KEYS[1])
expire_claims(session, server_now())
for _, name in ipairs(only and { only } or names_with(session, 'failures:')) do tool_state(session, name) end
for name, state in pairs(session.tools) do
  if not only or name == only then refresh(state, '') end
end
for _, name in ipairs(names_with(session, 'streaks:')) do
  if not only or name == only then session.streaks[name] = without_failures(tool_streaks(session, name), 0) end
end
if not only then session.lost = 0 end
save_session(session, KEYS, ttl_ms)
return 1
