-- Opens the record of a keyed batch: of all who do so at once, one holds it.
--
-- KEYS[1]  the record's hash
-- ARGV     body, calls, lease ms, expiry ms, id for a new record, then the indexes of results that were read as no JSON
-- Output   { 'other_body' }
--          { 'in_flight', ms that the lease has left }
--          { 'complete', life, first page of the calls }
--          { 'held', life, fence, first page of the calls }
-- Cost     one HMGET; unless refused one HKEYS and an HMGET per 32 calls; one HSET and one PEXPIRE where it is held

local body, calls, lease_ms, ttl_ms, new_life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local FIRST_UNREADABLE = 6

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
local function lease_left(head)
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
local function distrust(fields, is_suspect)
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
  in_chunks('HSET', marked)
  in_chunks('HDEL', gone)
end

local function has_all_results(fields)
  for index = 0, calls - 1 do
    if not fields['result:' .. index] then return false end
  end
  return true
end

local head = read_head()
if head then
  if head.body ~= body then return { 'other_body' } end
  local left = lease_left(head)
  if left > 0 then return { 'in_flight', left } end
end
local fields, unreadable = read_fields(), {}
for i = FIRST_UNREADABLE, #ARGV do unreadable[ARGV[i]] = true end
distrust(fields, function(index) return not head or unreadable[tostring(index)] end)
if head and head.committed and has_all_results(fields) then return { 'complete', head.life, read_page(0, calls) } end
local life = head and head.life or new_life
local fence = string.format('%d', head and head.fence + 1 or 1)
redis.call('HSET', key, 'body', body, 'life', life, 'fence', fence, 'lease', lease_end(lease_ms))
redis.call('PEXPIRE', key, ttl_ms)
return { 'held', life, fence, read_page(0, calls) }
