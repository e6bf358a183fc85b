-- Stores vectors of spaces that the agent may move to. Their vector revision is 0, so no search reads them until the agent
-- moves, when all search indexes start over.
local plan = cjson.decode(ARGV[3])
local refused = closed()
if refused then
  return refused
end
local own = call('HGET', life, 'space') or ''
local dims = {}
for _, v in ipairs(plan.vectors) do
  if v.space == own then
    return {'own', v.item, v.space}
  end
  if call('HEXISTS', items, v.item) == 1 then
    local dim = dims[v.space] or tonumber(call('HGET', base .. 'spaces', v.space) or v.dim)
    if dim ~= v.dim then
      return {'length', v.item, v.space, dim, v.dim}
    end
    dims[v.space] = dim
  end
end
for i, v in ipairs(plan.vectors) do
  local row = call('HGET', items, v.item)
  if row then
    call('HSET', base .. 'spaces', v.space, v.dim)
    call('HSET', base .. 'vectors:' .. v.space, v.item, flag(kept(row)) .. ARGV[3 + i])
    call('ZADD', base .. 'tides:' .. v.space, 0, v.item)
  end
end
drop_awake(plan.agent, true)
call('HINCRBY', life, 'pulse', 1)
return {'ok'}
