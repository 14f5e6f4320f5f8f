-- What the steps on the record of a keyed batch share. Put before each of them when it is loaded. The twin of
-- keyed-record.ts.
--
-- One hash per key of a tenant:
--   body              digest of what makes two bodies the same
--   life, fence       the record's id, and the number of the try that holds it or held it last
--   lease             when the hold lapses, in ms of the server's clock; absent once the try has committed
--   committed         1 once a try has committed
--   started:<index>   1: the call began, and nobody knows how it ended
--   result:<index>    JSON text
-- Only `open` makes a record and gives it its expiry; the other steps write to one that is there, so none is lost.

local key = KEYS[1]

-- tonumber would let nan, 0x10 and -5 through: anything but 1 to 15 digits reads as 0.
local function digits(text)
  if type(text) == 'string' and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
  return 0
end

local function server_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Lua's unpack ends near 8 000.
local function in_chunks(command, words)
  for i = 1, #words, 1000 do redis.call(command, key, unpack(words, i, math.min(i + 999, #words))) end
end

-- Whether no other try has begun since this one.
local function is_ours(life, fence)
  local saved = redis.call('HMGET', key, 'life', 'fence')
  return saved[1] == life and saved[2] == fence
end

-- Whether this try may go on: it is the last one, and has not committed. A lease that has run out is no obstacle.
local function is_running(life, fence)
  return is_ours(life, fence) and redis.call('HEXISTS', key, 'lease') == 1
end

local function lease_end(lease_ms)
  return string.format('%d', server_now() + tonumber(lease_ms))
end

-- What is known of the calls from `first` on, as much as one answer should carry: where to read on, then of each call
-- that a try began its index and its result, or '' where none is known.
local PAGE_BYTES, CALLS_AT_ONCE = 524288, 32

local function read_page(first, calls)
  local page, bytes = { calls }, 0
  for start = first, calls - 1, CALLS_AT_ONCE do
    local fields, last = {}, math.min(start + CALLS_AT_ONCE, calls) - 1
    for index = start, last do
      fields[#fields + 1] = 'result:' .. index
      fields[#fields + 1] = 'started:' .. index
    end
    local saved = redis.call('HMGET', key, unpack(fields))
    for index = start, last do
      if bytes >= PAGE_BYTES then
        page[1] = index
        return page
      end
      local result, started = saved[2 * (index - start) + 1], saved[2 * (index - start) + 2]
      if result or started then
        page[#page + 1] = tostring(index)
        page[#page + 1] = result or ''
        bytes = bytes + #(result or '')
      end
    end
  end
  return page
end
