-- Marks keys of an older schema with a newer one that can read them. ARGV: prefix, the current mark, the new one. Returns the
-- mark afterwards.
local mark = ARGV[1] .. 'schema'
if redis.call('GET', mark) == ARGV[2] then
  redis.call('SET', mark, ARGV[3])
end
return redis.call('GET', mark)
