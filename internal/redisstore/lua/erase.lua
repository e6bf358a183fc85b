-- Erases items, and puts back what named them without their names. The plan: ids to erase, with their revisions' causes and
-- references; ids of items and names of revisions to put back, whose rows follow.
local plan = cjson.decode(ARGV[3])
local before = done(plan.token)
if before then
  return before
end
if plan.pulse ~= number('pulse') then
  return {'torn'}
end
local spaces = collecting()
local own = call('HGET', life, 'space') or ''
if own ~= '' then
  spaces[#spaces + 1] = own
end
-- From here on nothing is refused.
for _, id in ipairs(plan.gone) do
  local item = kept(call('HGET', items, id))
  displace(id, item)
  for _, group in ipairs(groups(item)) do
    call('SREM', base .. group, id)
  end
  for number = 1, item.revision - 1 do
    local name = id .. '\0' .. number
    for _, group in ipairs(groups(kept(call('HGET', revisions, name)))) do
      call('SREM', base .. group, id)
    end
    call('HDEL', revisions, name)
  end
  call('HDEL', items, id)
  call('ZREM', base .. 'changes', id)
  for _, space in ipairs(spaces) do
    dropvector(space, id)
  end
  call('DEL', base .. 'refers:' .. id)
end
flush()
for _, dream in ipairs(plan.dreams or {}) do
  drop_dream(dream)
end
for _, dream in ipairs(plan.shown or {}) do
  local notes = base .. 'notes:' .. dream
  for _, key in ipairs(call('HKEYS', notes)) do
    if sub(key, 1, #plan.late) == plan.late then
      call('HDEL', notes, key)
    end
  end
end
drop_awake(plan.agent)
local at = 3
for _, put in ipairs(plan.put or {}) do
  at = at + 1
  call('HSET', base .. put.part, put.name .. (put.number and '\0' .. put.number or ''), ARGV[at])
end
local left = 0
for _, space in ipairs(spaces) do
  left = left + call('HLEN', base .. 'vectors:' .. space)
end
if left == 0 then
  call('HDEL', life, 'space', 'dim')
  call('DEL', base .. 'spaces')
end
call('HINCRBY', life, 'scrubs', 1)
call('HINCRBY', life, 'pulse', 1)
return finish(plan.token, {'ok', #plan.gone})
