-- Claims and what they hold: the rules that all steps share. The twin of rules/budget-state.ts.

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
