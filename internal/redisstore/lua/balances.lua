-- Returns what is reserved and spent of accounts. ARGV: prefix, and their scopes.
local out = {}
for i = 2, #ARGV do
  local sums = redis.call('HMGET', ARGV[1] .. 'm:account:' .. ARGV[i], 'reserved', 'spent')
  out[2 * i - 3], out[2 * i - 2] = sums[1] or '0', sums[2] or '0'
end
return out
