-- Rule 4 of the retry budget: the bucket that all unknown names share. The twin of rules/unknown-names.ts.

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
