-- Marks an epoch as recorded. KEYS: life, unheard. ARGV: prefix, agent, epoch. Returns the agent's epoch.
local l = redis.call('HMGET', KEYS[1], 'epoch', 'told')
local epoch, told, now = tonumber(l[1] or '0'), tonumber(l[2] or '0'), tonumber(ARGV[3])
if now <= epoch and now > told then
  redis.call('HSET', KEYS[1], 'told', ARGV[3])
  if now == epoch then redis.call('SREM', KEYS[2], ARGV[2]) end
end
return epoch
