-- Makes a collected space the agent's own, if every live item would keep a vector.
local plan = cjson.decode(ARGV[3])
local before = done(plan.token)
if before then
  return before
end
local refused = closed()
if refused then
  return refused
end
local holder = call('HGET', slot, 'dream')
if holder then
  return {'taken', holder}
end
local from, to = call('HGET', life, 'space') or '', plan.space
local missing = 0
if from ~= '' and from ~= to then
  for _, id in ipairs(call('HKEYS', base .. 'vectors:' .. from)) do
    if call('HEXISTS', base .. 'vectors:' .. to, id) == 0 and sub(call('HGET', base .. 'vectors:' .. from, id), 1, 1) == '1' then
      missing = missing + 1
    end
  end
end
if missing > 0 then
  return {'missing', missing}
end
local others = collecting()
others[#others + 1] = from
local dim = tonumber(call('HGET', base .. 'spaces', to) or 0)
for _, space in ipairs(others) do
  if space ~= to and space ~= '' then
    call('DEL', base .. 'vectors:' .. space, base .. 'tides:' .. space)
  end
end
call('DEL', base .. 'spaces')
if to ~= from then
  if dim == 0 then -- there are no vectors at all
    call('HDEL', life, 'space', 'dim')
  else
    call('HSET', life, 'space', to, 'dim', dim)
  end
  call('HINCRBY', life, 'scrubs', 1)
  for _, id in ipairs(call('HKEYS', items)) do
    local item = kept(call('HGET', items, id))
    local name, member = base .. 'bare:' .. item.kind .. ':' .. item.marks.s, members(id, item)[2][2]
    if call('HEXISTS', base .. 'vectors:' .. to, id) == 1 then
      call('ZREM', name, member)
    else
      call('ZADD', name, 0, member)
    end
  end
end
call('HINCRBY', life, 'pulse', 1)
return finish(plan.token, {'ok'})
