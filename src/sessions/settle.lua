-- Settles a round: rule 2 of the retry budget. The twin of settle-round.ts.
--
-- KEYS[1]  the session's hash
-- ARGV     born of the session at admission, expiry ms, retries of the session,
--          then per tool: name, retries, decision (free or retry), claim id or "", epoch at admission,
--          outcome (failed, succeeded, mixed, neither or interrupted), text of the failure
-- Output   per tool: a report. Where the session has begun another life nothing is written.
-- Cost     one HGETALL and what changed

local key, born, ttl_ms, session_retries = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local FIRST, STRIDE = 4, 7

local function count_failure(session, name, failure, now)
  local state = tool_state(session, name)
  state.failures = state.failures + 1
  state.epoch = state.epoch + 1
  state.failed_at = now
  state.error = failure
end

local function settle_unclaimed(session, tool, now)
  local state = tool_state(session, tool.name)
  if tool.outcome == 'failed' then
    count_failure(session, tool.name, tool.failure, now)
    if tool.retry then
      state.used = state.used + 1
      session.lost = math.max(0, session.lost - 1)
    end
  elseif tool.outcome == 'succeeded' and tool.retry and state.epoch == tool.epoch then
    refresh(session, tool.name)
  end
end

local function undo(session, claim)
  local state = tool_state(session, claim.tool)
  if claim.applied == 'failed' then
    state.failures = math.max(0, state.failures - 1)
    if claim.retry then state.used = math.max(0, state.used - 1) end
  elseif claim.applied == 'succeeded' then
    state.failures = state.failures + claim.wiped_failures
    state.used = state.used + claim.wiped_used
    claim.wiped_failures = 0
    claim.wiped_used = 0
  end
end

local function apply(session, claim, verdict, failure, now)
  local state = tool_state(session, claim.tool)
  claim.applied = verdict
  if verdict == 'failed' then
    count_failure(session, claim.tool, failure, now)
    if claim.retry then state.used = state.used + 1 end
  elseif verdict == 'succeeded' and claim.retry and claim.epoch == state.epoch then
    local failures, used = state.failures, state.used
    refresh(session, claim.tool)
    claim.wiped_failures = failures
    claim.wiped_used = used
  end
end

local function find_claim(session, tool)
  for _, claim in ipairs(session.claims) do
    if claim.id == tool.claim_id and claim.tool == tool.name then return claim end
  end
  return nil
end

local function settle_tool(session, tool, now)
  if tool.outcome == 'interrupted' then return end
  local claim = find_claim(session, tool)
  if not claim then return settle_unclaimed(session, tool, now) end
  claim.running = math.max(0, claim.running - 1)
  claim.failed = claim.failed or tool.outcome == 'failed' or tool.outcome == 'mixed'
  claim.succeeded = claim.succeeded or tool.outcome == 'succeeded' or tool.outcome == 'mixed'
  local verdict = 'none'
  if claim.failed ~= claim.succeeded then verdict = claim.failed and 'failed' or 'succeeded' end
  if verdict == claim.applied or (verdict == 'failed' and claim.applied == 'void') then return end
  undo(session, claim)
  apply(session, claim, verdict, tool.failure, now)
end

local now = server_now()
local session = load_session(key)
local current = session.born == born
local answer = {}
expire_claims(session, now)
for i = FIRST, #ARGV, STRIDE do
  if current then
    settle_tool(session, {
      name = ARGV[i], retry = ARGV[i + 2] == 'retry', claim_id = ARGV[i + 3], epoch = digits(ARGV[i + 4]),
      outcome = ARGV[i + 5], failure = ARGV[i + 6],
    }, now)
  end
end
keep_claims(session, function(claim) return claim.running > 0 or claim.join_until > now end)
for i = FIRST, #ARGV, STRIDE do
  answer[#answer + 1] = report(session, '', '', ARGV[i], tonumber(ARGV[i + 1]), session_retries)
end
if current then save_session(session, key, ttl_ms) end
return answer
