-- Saving a session that load_session gave. Of use to the steps that write.

local function wanted_fields(session)
  local claims, whole = {}, function(value) return value == 0 and '' or string.format('%d', value) end
  local wanted = {
    born = session.born, known_round = session.known_round, lost = whole(session.lost),
    rounds = whole(session.rounds), calls = whole(session.calls), spent = whole(spent_retries(session)),
    named = #session.named > 0 and cjson.encode(session.named) or '',
  }
  for name, state in pairs(session.tools) do
    wanted['failures:' .. name] = whole(state.failures)
    wanted['used:' .. name] = whole(state.used)
    wanted['epoch:' .. name] = whole(state.epoch)
    wanted['failed_at:' .. name] = whole(state.failed_at)
    wanted['error:' .. name] = state.error
    for _, claim in ipairs(state.claims) do claims[#claims + 1] = claim end
  end
  for name, calls in pairs(session.calls_of) do wanted['calls:' .. name] = whole(calls) end
  for name, streaks in pairs(session.streaks) do wanted['streaks:' .. name] = streaks_text(streaks) end
  wanted.claims = #claims > 0 and cjson.encode(claims) or ''
  return wanted
end

-- Writes what differs from what was loaded.
local function save_session(session, keys, ttl_ms)
  local set, gone = {}, {}
  for field, value in pairs(wanted_fields(session)) do
    local saved = session.saved[field]
    if value == '' then
      if saved then gone[#gone + 1] = field end
    elseif saved ~= value then
      set[#set + 1] = field
      set[#set + 1] = value
    end
  end
  if #set == 0 and session.born ~= '' then set = { 'born', session.born } end
  in_chunks('HSET', keys[1], set)
  in_chunks('HDEL', keys[1], gone)
  renew(keys, ttl_ms)
end
