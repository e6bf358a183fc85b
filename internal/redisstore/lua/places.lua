-- Returns the first members of sorted sets within bounds. ARGV: prefix, bounds, the most of each set, and their names.
local out = {}
for i = 5, #ARGV do
  out[i - 4] = redis.call('ZRANGEBYLEX', ARGV[i], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
end
return out
