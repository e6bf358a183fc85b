-- Stores a note of a dream unless its key exists, and returns the stored value.
local plan = cjson.decode(ARGV[3])
local refused = closed() or fenced(plan.fence, plan.late) or forgotten(plan.read)
if refused then
  return refused
end
local notes = base .. 'notes:' .. plan.dream
call('HSETNX', notes, plan.key, ARGV[4])
return {'ok', call('HGET', notes, plan.key)}
