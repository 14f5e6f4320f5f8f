-- The journal: a list of JSON texts, the last `cap` of them. The twin of rules/journal-text.ts.

-- The line with what its tool has left after the round; nil = nobody's.
local function journal_text(json, retries_left)
  local left = retries_left and string.format('%d', retries_left) or 'null'
  return string.sub(json, 1, -2) .. (json == '{}' and '' or ',') .. '"retries_left":' .. left .. '}'
end

local function append_journal(key, lines, cap)
  for i = 1, #lines, 1000 do redis.call('RPUSH', key, unpack(lines, i, math.min(i + 999, #lines))) end
  if #lines > 0 then redis.call('LTRIM', key, -cap, -1) end
end
