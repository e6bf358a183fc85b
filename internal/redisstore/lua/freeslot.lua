-- Frees the dreaming slot if the plan's holder has it, but not for a later stretch, at a higher epoch. Epoch 0 frees any.
local plan = cjson.decode(ARGV[3])
local held = call('HMGET', slot, 'dream', 'run', 'epoch')
if held[1] == plan.dream and held[2] == plan.run and (plan.epoch == 0 or tonumber(held[3] or '0') <= plan.epoch) then
  call('DEL', slot)
  call('HDEL', prefix .. 'slots', plan.agent)
end
return {'ok'}
