-- The session's budgets as Lua sees them: loading, the rules both steps share, saving. Put before admit.lua and
-- settle.lua when they are loaded. The twin of budget-state.ts.
--
-- One hash per session:
--   born, lost, known_round                     of the session
--   spent                                       what its tools hold and it has lost; for reading, never for reckoning
--   claims                                      JSON array of claims
--   failures:<tool> used:<tool> epoch:<tool> failed_at:<tool> error:<tool>

-- Counters are integers. tonumber would let nan, 0x10 and -5 through: anything but 1 to 15 digits reads as 0.
local function digits(text)
  if type(text) == 'string' and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
  return 0
end

local function count(value)
  if type(value) == 'number' and value >= 0 and value < 1e15 and value == math.floor(value) then return value end
  return 0
end

local function text(value)
  if type(value) == 'string' then return value end
  return ''
end

local function server_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function tool_state(session, name)
  local state = session.tools[name]
  if not state then
    local saved = session.saved
    state = {
      failures = digits(saved['failures:' .. name]), used = digits(saved['used:' .. name]),
      epoch = digits(saved['epoch:' .. name]), failed_at = digits(saved['failed_at:' .. name]),
      error = saved['error:' .. name] or '', claims = {},
    }
    session.tools[name] = state
  end
  return state
end

local function load_claims(session)
  local decoded, list = pcall(cjson.decode, session.saved['claims'] or '[]')
  if not decoded or type(list) ~= 'table' then return end
  for _, item in ipairs(list) do
    if type(item) == 'table' and type(item.id) == 'string' and type(item.tool) == 'string' then
      local claims = tool_state(session, item.tool).claims
      claims[#claims + 1] = {
        id = item.id, tool = item.tool, round = text(item.round), retry = item.retry == true,
        epoch = count(item.epoch), join_until = count(item.join_until), lease = count(item.lease),
        running = count(item.running), failed = item.failed == true, succeeded = item.succeeded == true,
        applied = text(item.applied), wiped_by = text(item.wiped_by), charged = count(item.charged),
        wiped_failures = count(item.wiped_failures), wiped_used = count(item.wiped_used),
      }
    end
  end
end

local function load_session(key)
  local fields = redis.call('HGETALL', key)
  local session = { tools = {}, saved = {} }
  for i = 1, #fields, 2 do session.saved[fields[i]] = fields[i + 1] end
  session.born = session.saved['born'] or ''
  session.lost = digits(session.saved['lost'])
  session.known_round = session.saved['known_round'] or ''
  load_claims(session)
  return session
end

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

-- Writes what differs from what was loaded, in chunks: Lua's unpack ends near 8 000.
local function save_session(session, key, ttl_ms)
  local claims = {}
  local wanted = {
    born = session.born, known_round = session.known_round, lost = string.format('%d', session.lost),
    spent = string.format('%d', spent_retries(session)),
  }
  for name, state in pairs(session.tools) do
    wanted['failures:' .. name] = string.format('%d', state.failures)
    wanted['used:' .. name] = string.format('%d', state.used)
    wanted['epoch:' .. name] = string.format('%d', state.epoch)
    wanted['failed_at:' .. name] = string.format('%d', state.failed_at)
    wanted['error:' .. name] = state.error
    for _, claim in ipairs(state.claims) do claims[#claims + 1] = claim end
  end
  wanted.claims = #claims > 0 and cjson.encode(claims) or ''
  local set, gone = {}, {}
  for field, value in pairs(wanted) do
    local saved = session.saved[field]
    if value == '' or value == '0' then
      if saved then gone[#gone + 1] = field end
    elseif saved ~= value then
      set[#set + 1] = field
      set[#set + 1] = value
    end
  end
  for i = 1, #set, 1000 do redis.call('HSET', key, unpack(set, i, math.min(i + 999, #set))) end
  for i = 1, #gone, 1000 do redis.call('HDEL', key, unpack(gone, i, math.min(i + 999, #gone))) end
  redis.call('PEXPIRE', key, ttl_ms)
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
