-- Reads on in a record.
--
-- KEYS[1]  the record's hash
-- ARGV     life, index of the first call, calls
-- Output   a page of the calls; nil where the key has begun another life
-- Cost     one HGET, an HMGET per 32 calls

if redis.call('HGET', key, 'life') ~= ARGV[1] then return false end
return read_page(tonumber(ARGV[2]), tonumber(ARGV[3]))
