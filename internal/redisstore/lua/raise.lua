-- Marks keys of an older schema as of a newer one, once everything in them can be read by it. ARGV: prefix, the mark that stands, the
-- new one. Answers the mark that stands then.
local mark = ARGV[1] .. 'schema'
if redis.call('GET', mark) == ARGV[2] then
  redis.call('SET', mark, ARGV[3])
end
return redis.call('GET', mark)
