-- The retry budgets of a session: claims and what they hold, 1 a round asks for its tools, 2 it settles, 4 unknown names share
-- one bucket. The twin of rules/retry-budgets.ts. Goes after session-state.lua.

local function is_open(claim)
  return claim.retry and claim.running > 0 and claim.applied ~= 'failed'
end

local function open_retries(state)
  local open = 0
  for _, claim in ipairs(state.claims) do
    if is_open(claim) then open = open + 1 end
  end
  return open
end

local function held_retries(state)
  return state.used + open_retries(state)
end

-- Looks at every tool: once a step, not once a tool.
local function spent_retries(session)
  local spent = session.lost
  for field, value in pairs(session.saved) do
    if string.sub(field, 1, 5) == 'used:' and not session.tools[string.sub(field, 6)] then
      spent = spent + digits(value)
    end
  end
  for _, state in pairs(session.tools) do spent = spent + held_retries(state) end
  return spent
end

-- The claim that a batch of this round takes over.
local function joinable(state, asked, now)
  if asked.round == '' then return nil end
  for _, claim in ipairs(state.claims) do
    if claim.round == asked.round and claim.join_until > now then return claim end
  end
  return nil
end

-- A hold on a tool that this batch makes for its round.
local function make_claim(state, name, asked, retry, running, now)
  local lease = now + asked.lease_ms
  state.claims[#state.claims + 1] = {
    id = asked.batch, tool = name, round = asked.round, retry = retry, epoch = state.epoch,
    join_until = (asked.round == '') and 0 or lease, lease = lease, running = running, failed = false,
    succeeded = false, applied = 'none', wiped_by = '', charged = 0, wiped_failures = 0, wiped_used = 0,
  }
end

local function keep_claims(state, keeps)
  local kept = {}
  for _, claim in ipairs(state.claims) do
    if keeps(claim) then kept[#kept + 1] = claim end
  end
  state.claims = kept
end

local function expire_claims(session, now)
  for _, state in pairs(session.tools) do
    for _, claim in ipairs(state.claims) do
      if claim.lease <= now and is_open(claim) then session.lost = session.lost + 1 end
    end
    keep_claims(state, function(claim) return claim.lease > now end)
  end
end

-- A claim costs every later step of its session. Of those without a running batch only the latest are kept.
local MAX_ENDED_CLAIMS = 16

local function drop_ended_claims(state, now)
  local surplus = -MAX_ENDED_CLAIMS
  keep_claims(state, function(claim)
    local kept = claim.running > 0 or claim.join_until > now
    if kept and claim.running == 0 then surplus = surplus + 1 end
    return kept
  end)
  keep_claims(state, function(claim)
    if claim.running > 0 or surplus <= 0 then return true end
    surplus = surplus - 1
    return false
  end)
end

-- `by` is the claim whose success does it and which may take it back; '' where nothing can.
local function refresh(state, by)
  state.failures = 0
  state.used = 0
  for _, claim in ipairs(state.claims) do
    claim.wiped_by = (claim.applied == 'failed') and by or ''
    if claim.applied == 'failed' then claim.applied = 'void' end
    claim.wiped_failures = 0
    claim.wiped_used = 0
  end
end

-- decision, claim id, epoch, failures, used, remaining, limited_by, last error
local function report(state, decision, claim_id, retries, session_left)
  local of_tool = math.max(0, retries - held_retries(state))
  local of_session = math.max(0, session_left)
  local limited_by = of_session < of_tool and 'session' or 'tool'
  local failure = state.failures > 0 and state.error or ''
  return { decision, claim_id, state.epoch, state.failures, state.used, math.min(of_tool, of_session), limited_by, failure }
end

-- Rule 1: what the budgets say of a round.

local function has_retry_left(state, tool, asked, spent)
  return held_retries(state) < tool.retries and spent < asked.session_retries
end

local function holds_retry(claim)
  return is_open(claim) or claim.applied == 'failed'
end

local function retries_to_join(state, claim)
  return (claim.retry and not holds_retry(claim) and state.failures > 0) and 1 or 0
end

-- A batch of a round that is under way takes over its reservation. What came back, or was never held, is held anew, and
-- must be there.
local function find_open_round(state, tool, asked, spent, now)
  local claim = joinable(state, asked, now)
  if not claim or retries_to_join(state, claim) == 0 then return claim end
  return has_retry_left(state, tool, asked, spent) and claim or nil
end

local function to_denial(state, tool)
  if state.used >= tool.retries then return 'tool' end
  return open_retries(state) > 0 and 'running' or 'session'
end

-- Nil where no failure stands, a retry is left, or what was exhausted has cooled down and is made fresh. While a
-- retry runs nothing is exhausted yet: its end decides.
local function refuse(state, tool, asked, spent, now)
  if state.failures == 0 or has_retry_left(state, tool, asked, spent) then return nil end
  local denial, former = to_denial(state, tool), joinable(state, asked, now)
  local cooled = asked.cooldown_ms > 0 and now - state.failed_at >= asked.cooldown_ms
  if denial == 'running' or not cooled then return denial end
  refresh(state, '')
  keep_claims(state, function(claim) return claim ~= former end)
  return nil
end

local function assess_tool(state, tool, asked, spent, now)
  local claim = find_open_round(state, tool, asked, spent, now)
  if claim then return { state = state, tool = tool, claim = claim, needs = retries_to_join(state, claim) } end
  local denial = refuse(state, tool, asked, spent, now)
  if denial then return { state = state, tool = tool, denial = denial, needs = 0 } end
  return { state = state, tool = tool, needs = state.failures > 0 and 1 or 0 }
end

-- Asks the budgets, tool by tool in batch order. Reserves nothing, but makes fresh what has cooled down. `let_in` gets
-- the tools that are not denied; `may_run` says whether a tool has a call to run.
local function assess_tools(session, asked, may_run, let_in, now)
  local spent, assessed = spent_retries(session), {}
  for position, tool in ipairs(asked.tools) do
    local state = tool_state(session, tool.name)
    local before = held_retries(state)
    local assessment = assess_tool(state, tool, asked, spent, now)
    local needs = (assessment.needs > 0 and may_run(tool)) and assessment.needs or 0
    spent = spent + held_retries(state) - before + needs
    let_in[tool.name] = assessment.denial == nil
    assessed[position] = assessment
  end
  return assessed
end

local function join_claim(state, claim, lease)
  -- Where nothing stands the round goes on free.
  if not holds_retry(claim) and state.failures == 0 then claim.retry = false end
  claim.running = claim.running + 1
  claim.lease = math.max(claim.lease, lease)
  return claim.retry and 'retry' or 'free', claim.id
end

-- Takes what the assessment found free; gives the decision and the id of the claim, or ''.
local function take_retry(assessment, asked, now)
  local state = assessment.state
  if assessment.denial then return assessment.denial, '' end
  if assessment.claim then return join_claim(state, assessment.claim, now + asked.lease_ms) end
  local retry = state.failures > 0
  if not retry and asked.round == '' then return 'free', '' end
  make_claim(state, assessment.tool.name, asked, retry, 1, now)
  return retry and 'retry' or 'free', asked.batch
end

-- What a tool gets of which limits and loop guard left nothing to run. Reserves nothing.
local function take_nothing(assessment)
  if assessment.denial then return assessment.denial, '' end
  return assessment.state.failures > 0 and 'idle' or 'free', ''
end

-- Rule 2: a round settles.

local function count_failure(state, failure, now)
  state.failures = state.failures + 1
  state.epoch = state.epoch + 1
  state.failed_at = now
  state.error = failure
end

-- No claim: a first attempt without a name, or a batch that settles after its lease and is a round of its own now. A
-- retry that the lease took for lost is known here to be used.
local function settle_unclaimed(session, state, tool, now)
  if tool.outcome == 'failed' then
    count_failure(state, tool.failure, now)
    if tool.retry then
      state.used = state.used + 1
      if tool.decision ~= 'late' then session.lost = math.max(0, session.lost - 1) end
    end
  elseif tool.outcome == 'succeeded' and tool.retry and state.epoch == tool.epoch then
    refresh(state, '')
  end
end

local function restore(state, claim)
  state.failures = state.failures + claim.wiped_failures
  state.used = state.used + claim.wiped_used
  claim.wiped_failures = 0
  claim.wiped_used = 0
  for _, wiped in ipairs(state.claims) do
    if wiped.wiped_by == claim.id then
      wiped.applied = 'failed'
      wiped.wiped_by = ''
    end
  end
end

-- The round has turned out mixed: what its verdict did is taken back.
local function undo(state, claim)
  if claim.applied == 'failed' then
    state.failures = math.max(0, state.failures - 1)
    state.used = math.max(0, state.used - claim.charged)
  elseif claim.applied == 'succeeded' then
    restore(state, claim)
  elseif claim.applied == 'void' then
    for _, wiper in ipairs(state.claims) do
      if wiper.id == claim.wiped_by then
        wiper.wiped_failures = math.max(0, wiper.wiped_failures - 1)
        wiper.wiped_used = math.max(0, wiper.wiped_used - claim.charged)
      end
    end
  end
end

local function apply(state, claim, verdict, failure, now)
  claim.applied = verdict
  claim.wiped_by = ''
  if verdict == 'failed' then
    count_failure(state, failure, now)
    claim.charged = claim.retry and 1 or 0
    state.used = state.used + claim.charged
  elseif verdict == 'succeeded' and claim.retry and claim.epoch == state.epoch then
    local failures, used = state.failures, state.used
    refresh(state, claim.id)
    claim.wiped_failures = failures
    claim.wiped_used = used
  end
end

local function find_claim(state, id)
  for _, claim in ipairs(state.claims) do
    if claim.id == id then return claim end
  end
  return nil
end

local function settle_tool(session, tool, now)
  if tool.decision == 'none' or tool.outcome == 'interrupted' then return end
  local state = tool_state(session, tool.name)
  local claim = find_claim(state, tool.claim_id)
  if not claim then return settle_unclaimed(session, state, tool, now) end
  -- Of a call that outlives its batch, that one gives back the hold on a retry.
  if tool.decision ~= 'late' then claim.running = math.max(0, claim.running - 1) end
  claim.failed = claim.failed or tool.outcome == 'failed' or tool.outcome == 'mixed'
  claim.succeeded = claim.succeeded or tool.outcome == 'succeeded' or tool.outcome == 'mixed'
  local verdict = 'none'
  if claim.failed ~= claim.succeeded then verdict = claim.failed and 'failed' or 'succeeded' end
  if verdict ~= claim.applied and not (verdict == 'failed' and claim.applied == 'void') then
    undo(state, claim)
    apply(state, claim, verdict, tool.failure, now)
  end
  drop_ended_claims(state, now)
end

-- Rule 4: the bucket that all unknown names share.

-- Whether the round has named an unknown tool. Named ones that have stand, as claims that hold nothing, under the
-- name '', which is no tool's.
local function has_named_unknown(session, asked, now)
  if asked.round == '' then return asked.unknown end
  local rounds = tool_state(session, '')
  if joinable(rounds, asked, now) then return true end
  if not asked.unknown then return false end
  make_claim(rounds, '', asked, false, 0, now)
  drop_ended_claims(rounds, now)
  return true
end

-- A round that names only known tools clears the bucket of unknown names; a named one when the next begins.
local function forgive_unknown_names(session, asked, now)
  if #asked.tools == 0 then return end
  local has_named = has_named_unknown(session, asked, now)
  local state, known_round = tool_state(session, '_unknown'), session.known_round
  session.known_round = ''
  if state.failures == 0 then return end
  if (known_round ~= '' and known_round ~= asked.round) or (not asked.unknown and asked.round == '') then refresh(state, '') end
  if not has_named then session.known_round = asked.round end
end
