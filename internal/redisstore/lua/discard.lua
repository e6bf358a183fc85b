-- Deletes items that dreams made. The plan: a token, ids, and the time since which what dreams left is kept.
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
if (call('HGET', life, 'detailsfrom') or '') < plan.details then
  call('HSET', life, 'detailsfrom', plan.details)
end
local spaces = collecting()
local own = call('HGET', life, 'space') or ''
if own ~= '' then
  spaces[#spaces + 1] = own
end
local gone = 0
for _, id in ipairs(plan.ids or {}) do
  local row = call('HGET', items, id)
  local item = row and kept(row)
  if item and (item.marks.dr or '') ~= '' then
    gone = gone + 1
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
    call('ZREM', base .. 'changes', id)
    for _, space in ipairs(spaces) do
      dropvector(space, id)
    end
    call('DEL', base .. 'refers:' .. id)
  end
end
flush()
if gone > 0 then
  call('HINCRBY', life, 'scrubs', 1)
  call('HINCRBY', life, 'pulse', 1)
end
return finish(plan.token, {'ok', gone})
