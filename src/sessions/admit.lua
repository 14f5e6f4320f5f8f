-- Admits a round: rule 1 of the retry budget. The twin of admit-round.ts.
--
-- KEYS[1]  the session's hash
-- ARGV     batch id, round id or "", lease ms, expiry ms, retries of the session, cooldown ms,
--          then per tool: name, retries
-- Output   { born } where every tool is free and nothing had to be looked at, else { born, per tool: a report }
--          with decision free, retry, tool, session or running (the last three: why it was denied)
-- Cost     clean: one HMGET of a field a tool, one PEXPIRE; else one HGETALL and what changed

local key, batch, round = KEYS[1], ARGV[1], ARGV[2]
local lease_ms, ttl_ms, session_retries, cooldown_ms = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local FIRST = 7

local function names_unknown()
  for i = FIRST, #ARGV, 2 do
    if ARGV[i] == '_unknown' then return true end
  end
  return false
end
local unknown = names_unknown()

-- The born of a session in which nothing concerns this round; nil where it must be looked at whole.
local function clean_birth()
  if round ~= '' or unknown then return nil end
  local fields, born = { 'born', 'failures:_unknown' }, nil
  for i = FIRST, #ARGV, 2 do fields[#fields + 1] = 'failures:' .. ARGV[i] end
  for i = 1, #fields, 1000 do
    local values = redis.call('HMGET', key, unpack(fields, i, math.min(i + 999, #fields)))
    if i == 1 then born = values[1] end
    for j = (i == 1) and 2 or 1, #values do
      if digits(values[j]) > 0 then return nil end
    end
  end
  if not born then
    born = batch
    redis.call('HSET', key, 'born', born)
  end
  redis.call('PEXPIRE', key, ttl_ms)
  return born
end

local function has_retry_left(session, name, retries)
  return tool_state(session, name).used + open_retries(session, name) < retries
    and spent_retries(session) < session_retries
end

local function joinable(session, name, now)
  if round == '' then return nil end
  for _, claim in ipairs(session.claims) do
    if claim.tool == name and claim.round == round and claim.join_until > now then return claim end
  end
  return nil
end

local function admit_tool(session, name, retries, now)
  local state, lease = tool_state(session, name), now + lease_ms
  local joined = joinable(session, name, now)
  if joined and (not joined.retry or is_open(joined) or joined.applied == 'failed' or has_retry_left(session, name, retries)) then
    joined.running = joined.running + 1
    joined.lease = math.max(joined.lease, lease)
    return report(session, joined.retry and 'retry' or 'free', joined.id, name, retries, session_retries)
  end
  local blocked = joined or (state.failures > 0 and not has_retry_left(session, name, retries))
  if blocked and not (cooldown_ms > 0 and now - state.failed_at >= cooldown_ms) then
    local denial = 'session'
    if state.used >= retries then denial = 'tool' elseif open_retries(session, name) > 0 then denial = 'running' end
    return report(session, denial, '', name, retries, session_retries)
  end
  if blocked then refresh(session, name) end
  local retry = state.failures > 0
  if not retry and round == '' then return report(session, 'free', '', name, retries, session_retries) end
  session.claims[#session.claims + 1] = {
    id = batch, tool = name, round = round, retry = retry, epoch = state.epoch,
    join_until = (round == '') and 0 or lease, lease = lease, running = 1, failed = false, succeeded = false,
    applied = 'none', wiped_failures = 0, wiped_used = 0,
  }
  return report(session, retry and 'retry' or 'free', batch, name, retries, session_retries)
end

-- A round that names only known tools clears the bucket of unknown names; a named one when the next begins.
local function forgive_unknown_names(session)
  if #ARGV < FIRST then return end
  if unknown and round ~= '' then session.unknown_round = round end
  if tool_state(session, '_unknown').failures == 0 then return end
  local another_ended = session.known_round ~= '' and session.known_round ~= round
  if another_ended or (not unknown and round == '') then refresh(session, '_unknown') end
  session.known_round = (not unknown and session.unknown_round ~= round) and round or ''
end

local born = clean_birth()
if born then return { born } end

local now = server_now()
local session = load_session(key)
if session.born == '' then session.born = batch end
expire_claims(session, now)
forgive_unknown_names(session)
local answer = { session.born }
for i = FIRST, #ARGV, 2 do
  answer[#answer + 1] = admit_tool(session, ARGV[i], tonumber(ARGV[i + 1]), now)
end
save_session(session, key, ttl_ms)
return answer
