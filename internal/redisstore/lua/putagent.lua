-- Creates or replaces an agent's record, which follows the plan.
local plan = cjson.decode(ARGV[3])
local holder = call('HGET', prefix .. 'handles', plan.handle)
if holder and holder ~= plan.agent then
  return {'taken', holder}
end
if call('HEXISTS', life, 'removing') == 1 then
  return {'removing'}
end
local record = call('HGET', prefix .. 'agents', plan.agent)
local old = record and cjson.decode(record).handle
if old and old ~= plan.handle then
  if number('dreams') > 0 or number('epoch') > 0 then
    return {'dreamt', old}
  end
  call('HDEL', prefix .. 'handles', old)
end
call('HSET', prefix .. 'agents', plan.agent, ARGV[4])
call('HSET', prefix .. 'handles', plan.handle, plan.agent)
call('HDEL', life, 'removed')
return {'ok'}
