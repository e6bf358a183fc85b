-- ARGV: prefix, dream. A full server takes what deletes first.
local mine = P .. 'allowance:' .. ARGV[2]
local all = redis.call('GET', mine)
if all then
  local amount = redis.call('HGET', all, ARGV[2]) or '0'
  redis.call('HDEL', all, ARGV[2])
  redis.call('DEL', mine)
  local change = begin_change()
  redis.call('HSET', change, 'allowance:' .. ARGV[2], all .. ' ' .. amount)
  end_change(change)
end
return 'ok'
