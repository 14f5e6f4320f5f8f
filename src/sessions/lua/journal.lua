-- The journal: a list of elements, the last ones that hold `cap` lines. The twin of memory-journals.ts.
--
-- An element is a line, a JSON object's text; or a round whose lines are written when they are read:
-- "[lines, tool, what it has left after the round, tool, ...]", a line break, and what the executor has packed.

-- The line with what its tool has left after the round; nil = nobody's.
local function journal_text(json, retries_left)
  local left = retries_left and string.format('%d', retries_left) or 'null'
  return string.sub(json, 1, -2) .. (json == '{}' and '' or ',') .. '"retries_left":' .. left .. '}'
end

local function lines_of(element)
  return tonumber(string.match(element, '^%[(%d+)') or '1')
end

-- Takes what is beyond the cap; gives the lines that are left.
local function trim_journal(key, lines, length, cap)
  if lines == length then
    redis.call('LTRIM', key, -cap, -1)
    return math.min(lines, cap)
  end
  while lines > cap do
    local surplus = lines_of(redis.call('LINDEX', key, 0) or '')
    if lines - surplus < cap then break end
    redis.call('LPOP', key)
    lines = lines - surplus
  end
  return lines
end

-- `added` is how many lines the elements hold. A list of which nothing is known has one line an element.
local function append_journal(keys, elements, added, cap)
  if #elements == 0 then return end
  local length = 0
  for i = 1, #elements, 1000 do length = redis.call('RPUSH', keys[2], unpack(elements, i, math.min(i + 999, #elements))) end
  local before = length - #elements
  local lines = (before == 0 and 0 or math.max(before, digits(redis.call('HGET', keys[1], 'lines') or ''))) + added
  if lines > cap then lines = trim_journal(keys[2], lines, length, cap) end
  redis.call('HSET', keys[1], 'lines', string.format('%d', lines))
end
