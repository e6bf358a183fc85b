-- Ends the removal of an agent: its record is deleted, and its counters are kept. The plan: the agent and its handle. Dreams
-- are named by handle: a later agent whose id equals this handle continues their numbers.
local plan = cjson.decode(ARGV[3])
if call('HEXISTS', life, 'removing') == 0 then
  return {'ok'}
end
drop_awake(plan.agent)
local counters = {}
for _, name in ipairs({'seq', 'dreams', 'tide', 'scrubs', 'pulse', 'epoch'}) do
  counters[name] = call('HGET', life, name)
end
call('DEL', life)
call('HSET', life, 'removed', 1, 'fed', 1, 'tallied', 1, 'unsettled', 1)
for name, value in pairs(counters) do
  if value then
    call('HSET', life, name, value)
  end
end
if counters.epoch then
  call('HSET', life, 'told', counters.epoch)
end
call('HINCRBY', life, 'scrubs', 1)
call('HINCRBY', life, 'pulse', 1)
if plan.other then
  local dreams = tonumber(counters.dreams or 0)
  if dreams > tonumber(call('HGET', plan.other, 'dreams') or 0) then
    call('HSET', plan.other, 'dreams', counters.dreams)
  end
end
call('HDEL', prefix .. 'slots', plan.agent)
call('HDEL', prefix .. 'agents', plan.agent)
call('HDEL', prefix .. 'embed_jobs', plan.agent)
if call('HGET', prefix .. 'handles', plan.handle) == plan.agent then
  call('HDEL', prefix .. 'handles', plan.handle)
end
return {'ok'}
