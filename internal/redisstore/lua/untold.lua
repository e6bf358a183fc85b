-- KEYS: unheard. ARGV: prefix. Members are agents as escaped in keys. Returns the newest unrecorded wake of each agent.
local out = {}
for _, agent in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local life = ARGV[1] .. 'a:' .. agent .. ':life'
  out[#out + 1] = redis.call('HGET', life, 'last')
end
return out
