-- ARGV: prefix, dream.
local mine = P .. 'allowance:' .. ARGV[2]
local all = redis.call('GET', mine)
if all then
  redis.call('HDEL', all, ARGV[2])
  redis.call('DEL', mine)
end
return 'ok'
