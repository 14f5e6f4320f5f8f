-- What scripts share that read and write hashes. Goes before them.

-- Counters are integers. tonumber would let nan, 0x10 and -5 through: anything but 1 to 15 digits reads as 0.
local function digits(text)
  if type(text) == 'string' and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
  return 0
end

local function server_now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Lua's unpack ends near 8 000.
local function in_chunks(command, key, words)
  for i = 1, #words, 1000 do redis.call(command, key, unpack(words, i, math.min(i + 999, #words))) end
end

local function read_fields(key, fields)
  local values = {}
  for i = 1, #fields, 1000 do
    local last = math.min(i + 999, #fields)
    local part = redis.call('HMGET', key, unpack(fields, i, last))
    for j = i, last do values[j] = part[j - i + 1] end
  end
  return values
end

-- A session and its journal end together.
local function renew(keys, ttl_ms)
  redis.call('PEXPIRE', keys[1], ttl_ms)
  redis.call('PEXPIRE', keys[2], ttl_ms)
end
