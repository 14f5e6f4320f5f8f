-- The first job that waits whose tenant is none of these; goes after turns.lua.
--
-- KEYS[1]  jobs by priority   KEYS[2]  jobs again
-- ARGV     what stands before a job's id in its key, tenants
-- Output   its call, or nil
-- Cost     one LRANGE, one ZRANGE, one HGET for each job before it, at most 200 of each

-- Tenants take turns: of each that has jobs waiting, one is among the first two or three of any other.
local MOST_READ = 200
local passed = {}
for position = 2, #ARGV do passed[ARGV[position]] = true end

local function find(calls)
  for _, call in ipairs(calls) do
    local data = redis.call('HGET', ARGV[1] .. call, 'data')
    if data and not passed[cjson.decode(data).tenant] then return call end
  end
  return false
end

return find(redis.call('LRANGE', KEYS[2], -MOST_READ, -1)) or find(redis.call('ZRANGE', KEYS[1], 0, MOST_READ - 1))
