-- Removes the oldest affects. ARGV: prefix, the list, how many, the last to go and the first to stay, as they were read.
if redis.call('LINDEX', ARGV[2], ARGV[3] - 1) == ARGV[4] and redis.call('LINDEX', ARGV[2], ARGV[3]) == ARGV[5] then
  redis.call('LTRIM', ARGV[2], ARGV[3], -1)
end
return 'ok'
