-- Returns every taken slot: the agent, then its slot's fields.
local out = {}
local held = redis.call('HGETALL', ARGV[1] .. 'slots')
for i = 1, #held, 2 do
  local h = redis.call('HMGET', held[i + 1], 'dream', 'run', 'epoch', 'workflow', 'cluster', 'since')
  out[#out + 1] = {held[i], h[1] or '', h[2] or '', h[3] or '0', h[4] or '', h[5] or '', h[6] or ''}
end
return out
