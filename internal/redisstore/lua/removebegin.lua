-- Begins to remove an agent, or continues an interrupted removal. The plan: the agent, now, and the counts of its items as a
-- text. From here on nothing is written for it. Returns ok, the counts stored by the first call, and the handle; or why not.
local plan = cjson.decode(ARGV[3])
local record = call('HGET', prefix .. 'agents', plan.agent)
if not record then
  return {'unknown'}
end
local handle = cjson.decode(record).handle
local counts = call('HGET', life, 'removing')
if counts then
  return {'ok', counts, handle}
end
local held = call('HGET', slot, 'dream')
if held then
  return {'dreams', held}
end
local clients = {}
for _, text in ipairs(call('HVALS', base .. 'leases')) do
  local lease = cjson.decode(text)
  if lease['until'] > plan.now then
    clients[#clients + 1] = lease.client
  end
end
if #clients > 0 then
  table.sort(clients)
  return {'held', table.concat(clients, ', ')}
end
call('HSET', life, 'removing', plan.counts)
call('HINCRBY', life, 'scrubs', 1)
call('HINCRBY', life, 'pulse', 1)
call('SREM', prefix .. 'unheard', plan.spelled)
return {'ok', plan.counts, handle}
