-- The steps on the record of a pending call; goes after fields.lua. The twin of memory-call-records.ts.
--
-- KEYS[1]  the record's hash, one per call of a tenant:
--   spec               JSON, with empty arguments
--   arguments          JSON text; absent once the call has ended
--   state              queued, running or ended. running: the worker of this fence has begun
--   begins             how often its handler has begun, or may have
--   fence              the number of the worker that holds it or held it last
--   lease              when the hold lapses, in ms of the server's clock; absent where no worker holds it
--   cancel             no, asked or forced
--   progress           JSON; absent until the call has said how far it is
--   lacked             when a worker first gave it back for want of its tool, in ms of that worker's clock; absent where none did
--   confirmed          1 once its maker knows of it
--   tries              how many tries of its batch have created it
--   life               ms that a confirmed record lives, unless its call ends before
--   result             JSON text; absent before the end
--   brief              the result without its value, where that makes it much shorter
--   unknown            1: the result says that nobody knows how the call ended
-- Only `create` makes a record and gives it its expiry; the other steps write to one that is there, so none is lost.
-- ARGV     the step, and what it says of itself below

local key, steps = KEYS[1], {}

-- What is no hash is no record. Not where there is none: a script that has written may go on writing where Redis is full.
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end

local CHANNEL = 'recourse:pending'
local PARTS = 'recourse:parts:'

-- A user of Redis may lack the right to publish: who waits reads again.
local function publish()
  redis.pcall('PUBLISH', CHANNEL, ARGV[2])
end

-- Nil where there is no record that can be believed.
local function read_head()
  local saved = redis.call('HMGET', key, 'state', 'fence', 'lease', 'begins', 'confirmed', 'unknown', 'life')
  local state = saved[1]
  if state ~= 'queued' and state ~= 'running' and state ~= 'ended' then return nil end
  return {
    state = state,
    fence = digits(saved[2]),
    lease = digits(saved[3]),
    begins = digits(saved[4]),
    confirmed = saved[5] == '1',
    unknown = saved[6] == '1',
    life = saved[7],
  }
end

-- The head where this worker holds the call, else nil. A lease that has run out is no obstacle while no other has begun.
local function read_held(fence)
  local head = read_head()
  if not head or head.state == 'ended' or head.fence ~= digits(fence) then return nil end
  return head
end

-- A lease that ends later than any can is garbage, or of a clock that was set back: it is over.
local function lease_left(head, lease_ms)
  local left = head.lease - server_now()
  if left > 2 * lease_ms then return 0 end
  return math.max(0, math.min(left, lease_ms))
end

local function lease_end(lease_ms)
  return string.format('%d', server_now() + tonumber(lease_ms))
end

local function confirm(head)
  if head.confirmed then return end
  redis.call('HSET', key, 'confirmed', '1')
  redis.call('PEXPIRE', key, head.life)
end

local function read_record(brief)
  local arguments = brief and '-' or 'arguments'
  local saved = redis.call('HMGET', key, 'spec', 'state', 'begins', 'cancel', arguments, 'progress', 'lacked', 'result')
  for i = 1, 8 do saved[i] = saved[i] or '' end
  return saved
end

-- Makes the record of a call that was just accepted, and lets it live for a minute: until it is confirmed.
-- ARGV     key, spec, arguments, ms that a confirmed record lives, ms that one lives that is not confirmed
-- Output   created, or exists or ended where there is one by this name: only that it was tried again is written
-- Cost     one HGET; one HSET and one PEXPIRE, or one HINCRBY
function steps.create()
  local state = redis.call('HGET', key, 'state')
  if state == 'ended' then return state end
  if state then
    redis.call('HINCRBY', key, 'tries', 1)
    return 'exists'
  end
  redis.call('HSET', key, 'spec', ARGV[3], 'arguments', ARGV[4], 'state', 'queued', 'begins', '0', 'fence', '0',
    'cancel', 'no', 'life', ARGV[5], 'tries', '1')
  redis.call('PEXPIRE', key, ARGV[6])
  return 'created'
end

-- Says that its maker knows of the record: from now on it lives as long as its call may take, and a day.
-- ARGV     key
-- Output   1, or 0 where there is none
-- Cost     one HMGET, one HSET, one PEXPIRE
function steps.confirm()
  local head = read_head()
  if not head then return 0 end
  confirm(head)
  return 1
end

-- ARGV     key, brief: without the arguments, and nothing of a record that is not confirmed
-- Output   spec, state, begins, cancel, arguments, progress, lacked, result, each '' where there is none; nil without a record
-- Cost     two HMGET
function steps.find()
  local head = read_head()
  if not head or (ARGV[3] and not head.confirmed) then return false end
  return read_record(ARGV[3])
end

-- What an index needs to know of a call.
-- ARGV     key, lease ms
-- Output   gone, ended, unconfirmed, held or waiting
-- Cost     one HMGET
function steps.peek()
  local head = read_head()
  if not head then return 'gone' end
  if head.state == 'ended' then return 'ended' end
  if not head.confirmed then return 'unconfirmed' end
  return lease_left(head, tonumber(ARGV[3])) > 0 and 'held' or 'waiting'
end

-- Takes the call for a worker: of all who do so at once, one holds it.
-- ARGV     key, lease ms
-- Output   { 'gone' }, { 'ended' }, { 'busy', ms that the lease has left }, or { 'held', fence, what `find` answers }
-- Cost     two HMGET, one HSET
function steps.claim()
  local head = read_head()
  if not head then return { 'gone' } end
  if head.state == 'ended' then return { 'ended' } end
  local left = lease_left(head, tonumber(ARGV[3]))
  if left > 0 then return { 'busy', left } end
  confirm(head)
  -- Whatever an earlier worker began, this one has not.
  redis.call('HSET', key, 'state', 'queued', 'fence', string.format('%d', head.fence + 1), 'lease', lease_end(ARGV[3]))
  return { 'held', head.fence + 1, read_record() }
end

-- Notes that the handler begins, before it does, once for each worker, and holds the call for another lease.
-- ARGV     key, fence, lease ms
-- Output   1, or 0 where this worker holds the call no more: nothing is written, and it must not run
-- Cost     one HMGET, one HSET
function steps.begin()
  local head = read_held(ARGV[3])
  if not head then return 0 end
  local begins = head.state == 'running' and head.begins or head.begins + 1
  redis.call('HSET', key, 'state', 'running', 'begins', string.format('%d', begins), 'lease', lease_end(ARGV[4]))
  return 1
end

-- Holds the call for another lease, and keeps how far it is.
-- ARGV     key, fence, lease ms, progress as JSON or ''
-- Output   { 1, cancel }, or { 0, 'no' } where this worker holds the call no more: nothing is written
-- Cost     one HMGET, one HSET, one HGET, one PUBLISH with progress
function steps.renew()
  if not read_held(ARGV[3]) then return { 0, 'no' } end
  redis.call('HSET', key, 'lease', lease_end(ARGV[4]))
  if ARGV[5] ~= '' then
    redis.call('HSET', key, 'progress', ARGV[5])
    publish()
  end
  return { 1, redis.call('HGET', key, 'cancel') or 'no' }
end

-- Gives back a call that did not run: as if this worker had not begun.
-- ARGV     key, fence, ms of the worker's clock where it lacks the tool or ''
-- Output   1, or 0 where this worker holds the call no more: nothing is written
-- Cost     one HMGET, one HSET, one HDEL, one HSETNX where the tool is lacking
function steps.release()
  local head = read_held(ARGV[3])
  if not head then return 0 end
  local begins = head.state == 'running' and math.max(0, head.begins - 1) or head.begins
  redis.call('HSET', key, 'state', 'queued', 'begins', string.format('%d', begins))
  if ARGV[4] == '' then
    redis.call('HDEL', key, 'lease', 'lacked')
  else
    redis.call('HDEL', key, 'lease')
    redis.call('HSETNX', key, 'lacked', ARGV[4])
  end
  return 1
end

-- Ends the call. A late end replaces only a result that says that nobody knows how the call ended. A worker whose answer
-- was lost commits the same result again: it has ended the call.
-- ARGV     key, fence, result, brief or '', 1 where it is late or '', 1 where it is unknown or '', expiry ms
-- Output   the spec, or nil where the call is not this worker's to end: nothing is written
-- Cost     one HMGET, one HGET, one HSET, one HDEL, one PEXPIRE, one PUBLISH
function steps.commit()
  local head = read_head()
  if not head then return false end
  local is_own = head.state == 'ended' and head.fence == digits(ARGV[3])
  if is_own and redis.call('HGET', key, 'result') == ARGV[4] then return redis.call('HGET', key, 'spec') or '' end
  local is_late_end = head.state == 'ended' and head.unknown and ARGV[6] == '1'
  local is_end = head.state ~= 'ended' and head.fence == digits(ARGV[3])
  if not is_late_end and not is_end then return false end
  redis.call('HSET', key, 'state', 'ended', 'result', ARGV[4], 'brief', ARGV[5], 'unknown', ARGV[7])
  redis.call('HDEL', key, 'arguments', 'lease')
  redis.call('PEXPIRE', key, ARGV[8])
  publish()
  return redis.call('HGET', key, 'spec') or ''
end

-- Takes back a call that only this try of its batch has created and no worker has taken, or asks its worker to end it.
-- ARGV     key, asked
-- Output   1, or 0 where the record stays
-- Cost     one HMGET, one HGET, one DEL; or that of `cancel`
function steps.withdraw()
  local head = read_head()
  if not head then return 1 end
  if redis.call('HGET', key, 'tries') ~= '1' then return 0 end
  if head.fence == 0 then return redis.call('DEL', key) end
  steps.cancel()
  return 0
end

-- Tells what the handler shows, while its worker holds the call. Writes nothing.
-- ARGV     key, fence, JSON
-- Output   1, or 0 where this worker holds the call no more: nothing is told
-- Cost     one HMGET, one PUBLISH
function steps.part()
  if not read_held(ARGV[3]) then return 0 end
  redis.pcall('PUBLISH', PARTS .. ARGV[2], ARGV[4])
  return 1
end

-- Notes that somebody wants the call ended; what was forced stays forced.
-- ARGV     key, asked or forced
-- Output   what `find` answers, after it
-- Cost     three HMGET, one HGET, one HSET, one PUBLISH
function steps.cancel()
  local head = read_head()
  if not head then return false end
  if head.state ~= 'ended' and redis.call('HGET', key, 'cancel') ~= 'forced' then
    redis.call('HSET', key, 'cancel', ARGV[3])
  end
  publish()
  return read_record()
end

return steps[ARGV[1]]()
