-- What the budgets say of a round: rule 1 of the retry budget. The twin of rules/admit-budgets.ts.

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
-- the tools that are not denied.
local function assess_tools(session, asked, judged, let_in, now)
  local spent, assessed = spent_retries(session), {}
  for position, tool in ipairs(asked.tools) do
    local state = tool_state(session, tool.name)
    local before = held_retries(state)
    local assessment = assess_tool(state, tool, asked, spent, now)
    local needs = (assessment.needs > 0 and may_run(session, asked, judged, tool, let_in)) and assessment.needs or 0
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
