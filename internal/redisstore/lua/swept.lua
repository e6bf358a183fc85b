-- Replaces what sweeps have done, unless it has changed. ARGV: prefix, what it was, what it becomes.
local key = ARGV[1] .. 'sweep'
if (redis.call('GET', key) or '') ~= ARGV[2] then
  return 'torn'
end
redis.call('SET', key, ARGV[3])
return 'ok'
