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

-- What the field `lines` of a session says: how many lines there are, and how many at the end are of refused calls or late
-- results among these; left out where none is. Of a list that is longer, each element is a line.
local function read_lines_field(keys, length)
  local lines, refused = string.match(redis.call('HGET', keys[1], 'lines') or '', '^(%d+) ?(%d*)$')
  lines = length == 0 and 0 or math.max(length, digits(lines))
  return lines, math.min(lines, digits(refused))
end

-- Takes what is beyond the cap; gives the lines that are left. The last call that was not refused stays: the next one goes.
local function trim_journal(key, lines, refused, cap)
  local length = redis.call('LLEN', key)
  if lines == length and refused < cap then
    redis.call('LTRIM', key, -cap, -1)
    return math.min(lines, cap), refused
  end
  while lines > cap do
    local first = redis.call('LPOP', key)
    if not first then return 0, 0 end
    local has_cause = refused < lines and refused >= lines - lines_of(first)
    local dropped = first
    if has_cause then dropped = redis.call('LPOP', key) end
    if not dropped then
      redis.call('LPUSH', key, first)
      break
    end
    local surplus = lines_of(dropped)
    local is_last = lines - surplus < cap
    if is_last then redis.call('LPUSH', key, dropped) end
    if has_cause then redis.call('LPUSH', key, first) end
    if is_last then break end
    lines = lines - surplus
    if has_cause then refused = refused - surplus end
  end
  return lines, refused
end

local REFUSED, EQUAL_WITHIN = '"outcome":"refused"', 8

-- What refused calls share that repeat each other: tool, name, arguments and code; nil for other lines. No text of a line
-- holds what is sought: in it each quote is behind a backslash.
local function repeat_key(line)
  if not string.find(line, REFUSED, 1, true) then return nil end
  local sent, code = string.match(line, '"tool":.-,"arguments":'), string.match(line, '"code":"[%w_]+"')
  return sent and code and sent .. code
end

-- Adds the line of a refused call, in the place of an equal one a little before; gives how many lines that makes more.
local function append_refused(key, line, refused)
  local wanted = repeat_key(line)
  local last = refused > 0 and redis.call('LRANGE', key, -math.min(refused, EQUAL_WITHIN), -1) or {}
  for i = #last, 1, -1 do
    if wanted and repeat_key(last[i]) == wanted then
      local before = math.max(1, digits(string.match(last[i], '"repeats":(%d+)}$')))
      redis.call('LSET', key, i - #last - 1, '')
      redis.call('LREM', key, -1, '')
      redis.call('RPUSH', key, string.sub(line, 1, -2) .. string.format(',"repeats":%d}', before + 1))
      return 0
    end
  end
  redis.call('RPUSH', key, line)
  return 1
end

-- How many elements there are before those of refused calls at the end.
local function others_of(elements)
  local others = #elements
  while others > 0 and string.find(elements[others], REFUSED, 1, true) and string.sub(elements[others], 1, 1) ~= '[' do
    others = others - 1
  end
  return others
end

-- `added` is how many lines the elements hold; `late` that they are late results.
local function append_journal(keys, elements, added, cap, late)
  if #elements == 0 then return end
  local lines, refused = read_lines_field(keys, redis.call('LLEN', keys[2]))
  local others = late and #elements or others_of(elements)
  for i = 1, others, 1000 do redis.call('RPUSH', keys[2], unpack(elements, i, math.min(i + 999, others))) end
  lines = lines + added - (#elements - others)
  if late and refused > 0 then
    refused = refused + added
  elseif others > 0 then
    refused = 0
  end
  for i = others + 1, #elements do
    local more = append_refused(keys[2], elements[i], refused)
    lines, refused = lines + more, refused + more
  end
  if lines > cap then lines, refused = trim_journal(keys[2], lines, refused, cap) end
  redis.call('HSET', keys[1], 'lines', string.format(refused > 0 and '%d %d' or '%d', lines, refused))
end
