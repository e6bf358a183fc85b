-- Removes older revisions of live items, and raises the time since which revisions are kept. The plan: that time;
-- items with the revision that was read, the numbers of those to remove, and when the oldest of the others was
-- replaced; items to read at the next step; and when every revision was looked at.
local plan = cjson.decode(ARGV[3])
local refused = closed()
if refused then
  return refused
end
if (call('HGET', life, 'undofrom') or '') < plan.before then
  call('HSET', life, 'undofrom', plan.before)
end
for _, id in ipairs(plan.look or {}) do
  soon('ZADD', base .. 'by:replaced', 0, id)
end
flush()
local removed = 0
for _, item in ipairs(plan.items or {}) do
  local row = call('HGET', items, item.id)
  local new = row and kept(row)
  if new and new.revision ~= item.newest then
    call('ZADD', base .. 'by:replaced', 0, item.id)
  elseif item.next then
    call('ZADD', base .. 'by:replaced', item.next, item.id)
  else
    call('ZREM', base .. 'by:replaced', item.id)
  end
  if new and new.revision == item.newest and new.marks.s == 'live' then
    local lost, used = {}, {}
    for _, number in ipairs(item.numbers or {}) do
      local name = item.id .. '\0' .. number
      local old = call('HGET', revisions, name)
      if old then
        for _, group in ipairs(pastgroups(kept(old), new)) do
          lost[group] = true
        end
        call('HDEL', revisions, name)
        removed = removed + 1
      end
    end
    if next(lost) then
      for _, group in ipairs(groups(new)) do
        used[group] = true
      end
      for number = 1, new.revision - 1 do
        local old = call('HGET', revisions, item.id .. '\0' .. number)
        for _, group in ipairs(old and pastgroups(kept(old), new) or {}) do
          used[group] = true
        end
      end
    end
    for group in pairs(lost) do
      if not used[group] then
        call('SREM', base .. group, item.id)
      end
    end
  end
end
if removed > 0 then
  call('HINCRBY', life, 'pulse', 1)
end
if plan.scanned then
  call('HSET', life, 'scanned', plan.scanned)
end
return {'ok', removed}
