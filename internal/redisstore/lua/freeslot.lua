-- Frees the dreaming slot if the plan's holder has it.
local plan = cjson.decode(ARGV[3])
local held = call('HMGET', slot, 'dream', 'run')
if held[1] == plan.dream and held[2] == plan.run then
  call('DEL', slot)
  call('HDEL', prefix .. 'slots', plan.agent)
end
return {'ok'}
