-- Takes, confirms or steals the dreaming slot. The plan has the slot to take and the holder that it may be taken from.
local plan = cjson.decode(ARGV[3])
local function holder()
  local h = call('HMGET', slot, 'dream', 'run', 'epoch', 'workflow', 'cluster', 'since')
  return h[1] and h
end
local function answer(word, h)
  return {word, h[1], h[2], h[3] or '0', h[4] or '', h[5] or '', h[6] or ''}
end
local refused = closed()
if refused then
  return refused
end
local held = holder()
if held and held[1] == plan.dream and held[2] == plan.run then
  return answer('held', held)
end
if held and not (held[1] == plan.steal.dream and held[2] == plan.steal.run) then
  return answer('taken', held)
end
local till = until_of(life, base .. 'leases')
if till > plan.since then
  return {'awake', till}
end
call('DEL', slot)
call('HSET', slot, 'dream', plan.dream, 'run', plan.run, 'epoch', string.format('%.0f', number('epoch')),
  'workflow', plan.workflow, 'cluster', plan.cluster, 'since', plan.since)
call('HSET', prefix .. 'slots', plan.agent, slot)
return answer('held', holder())
