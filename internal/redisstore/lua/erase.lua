-- Erases items, and writes back what named or repeated them in its scrubbed form. The plan: ids to erase, which need not
-- exist; ids of items and names of revisions to write back, whose rows follow; notes to replace, whose values follow, or to
-- drop.
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
local erased = 0
for _, id in ipairs(plan.gone or {}) do
  local row = call('HGET', items, id)
  if row then
    local item = kept(row)
    erased = erased + 1
    displace(id, item)
    tally(id, item, nil)
    for _, group in ipairs(groups(item)) do
      call('SREM', base .. group, id)
    end
    for number = 1, item.revision - 1 do
      local name = id .. '\0' .. number
      local old = call('HGET', revisions, name)
      if old then
        for _, group in ipairs(groups(kept(old))) do
          call('SREM', base .. group, id)
        end
        call('HDEL', revisions, name)
      end
    end
    call('HDEL', items, id)
    call('ZREM', base .. 'by:replaced', id)
  end
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
local sleeper = call('HGET', slot, 'dream')
if sleeper then -- its running calls may have shown any memory
  drop_dream(sleeper)
end
for _, dream in ipairs(plan.shown or {}) do
  local notes = base .. 'notes:' .. dream
  for _, key in ipairs(call('HKEYS', notes)) do
    if sub(key, 1, #plan.late) == plan.late then
      call('HDEL', notes, key)
    end
  end
end
if plan.awake then
  drop_awake(plan.agent)
end
local at = 3
for _, put in ipairs(plan.put or {}) do
  at = at + 1
  if put.other then
    displace(put.name, kept(call('HGET', items, put.name)))
    flush()
    place(put.name, kept(ARGV[at]), true)
    for _, space in ipairs(spaces) do
      dropvector(space, put.name)
    end
  end
  call('HSET', base .. put.part, put.name .. (put.number and '\0' .. put.number or ''), ARGV[at])
end
flush()
for _, note in ipairs(plan.notes or {}) do
  local notes = base .. 'notes:' .. note.dream
  if note.drop then
    call('HDEL', notes, note.key)
  else
    at = at + 1
    if call('HEXISTS', notes, note.key) == 1 then -- its dream may have ended meanwhile
      call('HSET', notes, note.key, ARGV[at])
    end
  end
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
return finish(plan.token, {'ok', tostring(erased)})
