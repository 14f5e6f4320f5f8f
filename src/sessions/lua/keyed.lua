-- The steps on the record of a keyed batch; goes after fields.lua. The twin of memory-keyed-store.ts.
--
-- KEYS[1]  the record's hash, one per key of a tenant:
--   body              digest of what makes two bodies the same
--   life, fence       the record's id, and the number of the try that holds it or held it last
--   lease             when the hold lapses, in ms of the server's clock; absent once the try has committed
--   committed         1 once a try has committed
--   started:<index>   1: the call began, and nobody knows how it ended
--   result:<index>    JSON text
-- Only `open` makes a record and gives it its expiry; the other steps write to one that is there, so none is lost.
-- ARGV     the step, and what it says of itself below

local key, steps = KEYS[1], {}

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

-- Nil where there is no record that can be believed: absent, or of a shape that no step wrote.
local function read_head()
  local saved = redis.pcall('HMGET', key, 'body', 'life', 'fence', 'lease', 'committed')
  if saved.err then
    if not string.find(saved.err, 'WRONGTYPE', 1, true) then error(saved.err, 0) end
    redis.call('DEL', key)
    return nil
  end
  local fence = digits(saved[3])
  if not saved[1] or not saved[2] or saved[2] == '' or fence == 0 then return nil end
  return { body = saved[1], life = saved[2], fence = fence, lease = digits(saved[4]), committed = saved[5] }
end

-- A lease that ends later than any can is garbage, or of a clock that was set back by more than a lease: it is over.
local function lease_left(head, lease_ms)
  local left = head.lease - server_now()
  if left > 2 * lease_ms then return 0 end
  return math.min(left, lease_ms)
end

local function read_fields()
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do fields[field] = true end
  return fields
end

-- A result that cannot be believed says at least that its call began.
local function distrust(fields, calls, is_suspect)
  local marked, gone = {}, {}
  for index = 0, calls - 1 do
    local result = 'result:' .. index
    if fields[result] and is_suspect(index) then
      fields[result] = nil
      gone[#gone + 1] = result
      marked[#marked + 1] = 'started:' .. index
      marked[#marked + 1] = '1'
    end
  end
  in_chunks('HSET', key, marked)
  in_chunks('HDEL', key, gone)
end

local function has_all_results(fields, calls)
  for index = 0, calls - 1 do
    if not fields['result:' .. index] then return false end
  end
  return true
end

-- Opens the record: of all who do so at once, one holds it.
-- ARGV     body, calls, lease ms, expiry ms, id for a new record, then the indexes of results that were read as no JSON
-- Output   { 'other_body' }
--          { 'in_flight', ms that the lease has left }
--          { 'complete', life, first page of the calls }
--          { 'held', life, first page of the calls, fence }
-- Cost     one HMGET; unless refused one HKEYS and an HMGET per 32 calls; one HSET and one PEXPIRE where it is held
function steps.open()
  local body, calls, lease_ms, ttl_ms, new_life = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
  local head = read_head()
  if head then
    if head.body ~= body then return { 'other_body' } end
    local left = lease_left(head, lease_ms)
    if left > 0 then return { 'in_flight', left } end
  end
  local fields, unreadable = read_fields(), {}
  for i = 7, #ARGV do unreadable[ARGV[i]] = true end
  distrust(fields, calls, function(index) return not head or unreadable[tostring(index)] end)
  if head and head.committed and has_all_results(fields, calls) then return { 'complete', head.life, read_page(0, calls) } end
  local life = head and head.life or new_life
  local fence = string.format('%d', head and head.fence + 1 or 1)
  redis.call('HSET', key, 'body', body, 'life', life, 'fence', fence, 'lease', lease_end(lease_ms))
  redis.call('PEXPIRE', key, ttl_ms)
  return { 'held', life, read_page(0, calls), fence }
end

-- Reads on in a record.
-- ARGV     life, index of the first call, calls
-- Output   a page of the calls; nil where the key has begun another life
-- Cost     one HGET, an HMGET per 32 calls
function steps.read()
  if redis.call('HGET', key, 'life') ~= ARGV[2] then return false end
  return read_page(tonumber(ARGV[3]), tonumber(ARGV[4]))
end

-- Holds the record for another lease.
-- ARGV     life, fence, lease ms
-- Output   1, or 0 where this try holds the record no more or has committed: nothing is written
-- Cost     one HMGET, one HEXISTS, one HSET
function steps.renew()
  if not is_running(ARGV[2], ARGV[3]) then return 0 end
  redis.call('HSET', key, 'lease', lease_end(ARGV[4]))
  return 1
end

-- Notes that a call begins, before it does, and holds the record for another lease.
-- ARGV     life, fence, lease ms, index of the call
-- Output   1, or 0 where this try holds the record no more: nothing is written, and the call must not run
-- Cost     one HMGET, one HEXISTS, one HSET
function steps.start()
  if not is_running(ARGV[2], ARGV[3]) then return 0 end
  redis.call('HSET', key, 'lease', lease_end(ARGV[4]), 'started:' .. ARGV[5], '1')
  return 1
end

-- Keeps results, and with the last of them ends the lease.
-- ARGV     life, fence, lease ms, expiry ms, more or last, then per call: index, result, or '' where the call is to run
--          again with the same key
-- Output   1, or 0 where another try has begun: nothing is written
-- Cost     one HMGET, one HSET and one HDEL per 500 calls, one PEXPIRE
function steps.commit()
  if not is_ours(ARGV[2], ARGV[3]) then return 0 end
  local is_last, set, gone = ARGV[6] == 'last', {}, {}
  for i = 7, #ARGV, 2 do
    gone[#gone + 1] = 'started:' .. ARGV[i]
    if ARGV[i + 1] ~= '' then
      set[#set + 1] = 'result:' .. ARGV[i]
      set[#set + 1] = ARGV[i + 1]
    end
  end
  set[#set + 1] = is_last and 'committed' or 'lease'
  set[#set + 1] = is_last and '1' or lease_end(ARGV[4])
  if is_last then gone[#gone + 1] = 'lease' end
  in_chunks('HSET', key, set)
  in_chunks('HDEL', key, gone)
  redis.call('PEXPIRE', key, ARGV[5])
  return 1
end

-- Replaces a committed result. Where another life has begun, or none is committed, nothing is written.
-- ARGV     life, fence, index of the call, result
-- Output   1 where it was replaced, else 0
-- Cost     one HGET, one HEXISTS, one HSET
function steps.amend()
  local field = 'result:' .. ARGV[4]
  if redis.call('HGET', key, 'life') ~= ARGV[2] or redis.call('HEXISTS', key, field) == 0 then return 0 end
  redis.call('HSET', key, field, ARGV[5])
  return 1
end

return steps[ARGV[1]]()
