-- Counts rounds, a named one once. The twin of rules/count-round.ts.

local MAX_NAMED_ROUNDS = 16

-- Its step, and whether it was begun, joined, or refused as one too many.
local function count_round(session, asked, now)
  local kept, joined = {}, nil
  for _, named in ipairs(session.named) do
    if named.join_until > now then
      kept[#kept + 1] = named
      if asked.round ~= '' and named.id == asked.round then joined = joined or named end
    end
  end
  session.named = kept
  if joined then return joined.step, 'joined' end
  local step = session.rounds + 1
  if asked.max_rounds > 0 and step > asked.max_rounds then return step, 'refused' end
  session.rounds = step
  if asked.round ~= '' then
    kept[#kept + 1] = { id = asked.round, step = step, join_until = now + asked.lease_ms }
    while #kept > MAX_NAMED_ROUNDS do table.remove(kept, 1) end
  end
  return step, 'begun'
end
