-- Marks keys of an older schema with a newer one that can read them, and that this was done within the last hour: processes
-- of the older program may still write. ARGV: prefix, the current mark, the new one. Returns the mark afterwards.
local mark = ARGV[1] .. 'schema'
if redis.call('GET', mark) == ARGV[2] then
  redis.call('SET', mark, ARGV[3])
  redis.call('SET', ARGV[1] .. 'raised', ARGV[3], 'EX', 3600)
end
return redis.call('GET', mark)
