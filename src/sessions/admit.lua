-- Admits a round: rule 1 of the retry budget. The twin of admit-round.ts.
--
-- KEYS[1]  the session's hash
-- ARGV     batch id, round id or "", lease ms, expiry ms, retries of the session, cooldown ms,
--          then per tool: name, retries
-- Output   { born } where every tool is free and the session has spent nothing, else { born, per tool: a report }
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
  local fields, born = { 'born', 'spent', 'failures:_unknown' }, nil
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

local function has_retry_left(state, retries, spent)
  return held_retries(state) < retries and spent < session_retries
end

local function joinable(state, now)
  if round == '' then return nil end
  for _, claim in ipairs(state.claims) do
    if claim.round == round and claim.join_until > now then return claim end
  end
  return nil
end

local function make_claim(state, name, retry, running, now)
  local lease = now + lease_ms
  state.claims[#state.claims + 1] = {
    id = batch, tool = name, round = round, retry = retry, epoch = state.epoch,
    join_until = (round == '') and 0 or lease, lease = lease, running = running, failed = false, succeeded = false,
    applied = 'none', wiped_by = '', charged = 0, wiped_failures = 0, wiped_used = 0,
  }
end

-- A batch of a round that is under way takes over its reservation.
local function join_round(state, retries, spent, now)
  local joined = joinable(state, now)
  if not joined then return nil end
  -- What came back, or was never held, is held anew, and must be there. Where nothing stands the round goes on free.
  local holds = is_open(joined) or joined.applied == 'failed'
  if not holds and state.failures == 0 then joined.retry = false end
  if joined.retry and not holds and not has_retry_left(state, retries, spent) then return nil end
  joined.running = joined.running + 1
  joined.lease = math.max(joined.lease, now + lease_ms)
  return joined.retry and 'retry' or 'free', joined.id
end

local function to_denial(state, retries)
  if state.used >= retries then return 'tool' end
  return open_retries(state) > 0 and 'running' or 'session'
end

-- Nil where no failure stands, a retry is left, or what was exhausted has cooled down and is made fresh. While a
-- retry runs nothing is exhausted yet: its end decides.
local function refuse(state, retries, spent, now)
  if state.failures == 0 or has_retry_left(state, retries, spent) then return nil end
  local denial, former = to_denial(state, retries), joinable(state, now)
  if denial == 'running' or not (cooldown_ms > 0 and now - state.failed_at >= cooldown_ms) then return denial, '' end
  refresh(state, '')
  keep_claims(state, function(claim) return claim ~= former end)
  return nil
end

local function begin(state, name, now)
  local retry = state.failures > 0
  if not retry and round == '' then return 'free', '' end
  make_claim(state, name, retry, 1, now)
  return retry and 'retry' or 'free', batch
end

local function admit_tool(state, name, retries, spent, now)
  local decision, claim_id = join_round(state, retries, spent, now)
  if not decision then decision, claim_id = refuse(state, retries, spent, now) end
  if not decision then decision, claim_id = begin(state, name, now) end
  return { state = state, decision = decision, claim_id = claim_id, retries = retries }
end

-- Whether the round has named an unknown tool. Named ones that have stand, as claims that hold nothing, under the
-- name '', which is no tool's.
local function has_named_unknown(session, now)
  if round == '' then return unknown end
  local rounds = tool_state(session, '')
  if joinable(rounds, now) then return true end
  if not unknown then return false end
  make_claim(rounds, '', false, 0, now)
  drop_ended_claims(rounds, now)
  return true
end

-- A round that names only known tools clears the bucket of unknown names; a named one when the next begins.
local function forgive_unknown_names(session, now)
  if #ARGV < FIRST then return end
  local has_named, state, known_round = has_named_unknown(session, now), tool_state(session, '_unknown'), session.known_round
  session.known_round = ''
  if state.failures == 0 then return end
  if (known_round ~= '' and known_round ~= round) or (not unknown and round == '') then refresh(state, '') end
  if not has_named then session.known_round = round end
end

local born = clean_birth()
if born then return { born } end

local now = server_now()
local session = load_session(key)
if session.born == '' then session.born = batch end
expire_claims(session, now)
forgive_unknown_names(session, now)
local spent, admitted = spent_retries(session), {}
for i = FIRST, #ARGV, 2 do
  local state = tool_state(session, ARGV[i])
  local before = held_retries(state)
  admitted[#admitted + 1] = admit_tool(state, ARGV[i], tonumber(ARGV[i + 1]), spent, now)
  spent = spent + held_retries(state) - before
end
save_session(session, key, ttl_ms)
local answer = { session.born }
for _, tool in ipairs(admitted) do
  answer[#answer + 1] = report(tool.state, tool.decision, tool.claim_id, tool.retries, session_retries - spent)
end
return answer
