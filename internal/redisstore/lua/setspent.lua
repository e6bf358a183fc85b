-- Replaces totals of days that are as they were read. ARGV: prefix, and for each an agent, a day, the total before ('' for
-- none) and after. Returns 1 for each that was replaced, 0 for one that has changed.
local out = {}
for i = 2, #ARGV, 4 do
  local key, day, n = P .. 'spent:' .. ARGV[i], ARGV[i + 1], #out + 1
  out[n] = 0
  if (redis.call('HGET', key, day) or '') == ARGV[i + 2] then
    redis.call('HSET', key, day, ARGV[i + 3])
    redis.call('SADD', P .. 'spenders', ARGV[i])
    out[n] = 1
  end
end
return out
