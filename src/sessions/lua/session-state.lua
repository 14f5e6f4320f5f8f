-- A session as Lua sees it: loading and saving. The twin of rules/session-state.ts.
--
-- One hash per session:
--   born, rounds, calls, lost, known_round      of the session
--   named                                       JSON array of the named rounds that may be joined
--   spent                                       what its tools hold and it has lost; for reading, never for reckoning
--   claims                                      JSON array of claims
--   failures:<tool> used:<tool> epoch:<tool> failed_at:<tool> error:<tool>
--   calls:<tool>                                of tools that limit their calls
--   streaks:<tool>                              see loop-guard.lua
--   lines                                       lines of the journal, whose elements hold one or more; and how many at its end
--                                               are of refused calls
--   dropped                                     1: lines of the journal went, or were not kept, for want of room
-- and one list, its journal.

local function count(value)
  if type(value) == 'number' and value >= 0 and value < 1e15 and value == math.floor(value) then return value end
  return 0
end

local function text(value)
  if type(value) == 'string' then return value end
  return ''
end

-- The items of a JSON array that are objects.
local function decoded_list(json)
  local decoded, list = pcall(cjson.decode, json or '[]')
  local items = {}
  if not decoded or type(list) ~= 'table' then return items end
  for _, item in ipairs(list) do
    if type(item) == 'table' then items[#items + 1] = item end
  end
  return items
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
  for _, item in ipairs(decoded_list(session.saved['claims'])) do
    if type(item.id) == 'string' and type(item.tool) == 'string' then
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

local function load_named(session)
  for _, item in ipairs(decoded_list(session.saved['named'])) do
    if type(item.id) == 'string' then
      session.named[#session.named + 1] = { id = item.id, step = count(item.step), join_until = count(item.join_until) }
    end
  end
end

local function load_session(key)
  local fields = redis.call('HGETALL', key)
  local session = { tools = {}, saved = {}, named = {}, calls_of = {}, streaks = {} }
  for i = 1, #fields, 2 do session.saved[fields[i]] = fields[i + 1] end
  session.born = session.saved['born'] or ''
  session.rounds = digits(session.saved['rounds'])
  session.calls = digits(session.saved['calls'])
  session.lost = digits(session.saved['lost'])
  session.known_round = session.saved['known_round'] or ''
  load_claims(session)
  load_named(session)
  return session
end

local function calls_of(session, name)
  return session.calls_of[name] or digits(session.saved['calls:' .. name])
end

-- The names under which the session has fields that begin so.
local function names_with(session, prefix)
  local names = {}
  for field in pairs(session.saved) do
    if string.sub(field, 1, #prefix) == prefix then names[#names + 1] = string.sub(field, #prefix + 1) end
  end
  return names
end
