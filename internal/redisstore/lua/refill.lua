-- A part of an import: items of one agent. The plan: the mark that the part needs and the one that it leaves; the agent's own
-- space; the vector revision of these items; and for each item its id, the number of older revisions, and the spaces of its
-- vectors. Rows and vectors follow in that order. Returns the same as fill.
local plan = cjson.decode(ARGV[3])
local mark = prefix .. 'schema'
local now = call('GET', mark)
if now == plan.after then
  return {'ok'}
end
if now ~= plan.before then
  return {'lost', now or ''}
end
local at = 3
local function blob()
  at = at + 1
  return ARGV[at]
end
for _, i in ipairs(plan.items) do
  local past = {}
  for number = 1, i.past do
    past[number] = kept(blob())
  end
  local new, bare = kept(blob()), true
  replaced(i.id, past, new, '0')
  for _, old in ipairs(past) do
    soon('HSET', revisions, i.id .. '\0' .. old.revision, old.row)
    for _, group in ipairs(pastgroups(old, new)) do
      soon('SADD', base .. group, i.id)
    end
  end
  soon('HSET', items, i.id, new.row)
  tally(i.id, nil, new)
  soon('ZADD', base .. 'changes', plan.tide, i.id)
  for _, group in ipairs(groups(new, true)) do
    soon('SADD', base .. group, i.id)
  end
  for _, space in ipairs(i.spaces or {}) do
    soon('HSET', base .. 'vectors:' .. space, i.id, flag(new) .. blob())
    if space == plan.own then
      bare = false
      soon('ZADD', base .. 'tides:' .. space, plan.tide, i.id)
    else
      soon('ZADD', base .. 'tides:' .. space, 0, i.id)
    end
  end
  place(i.id, new, bare)
end
flush()
call('SET', mark, plan.after)
return {'ok'}
