-- Settles the budgets of a round: rule 2 of the retry budget. The twin of rules/settle-budgets.ts.

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
      session.lost = math.max(0, session.lost - 1)
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
  claim.running = math.max(0, claim.running - 1)
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
