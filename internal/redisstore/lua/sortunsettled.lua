-- Sorts the unsettled predictions and hypotheses that an older program wrote. The plan: states. Processes of that
-- program may still write for an hour after the keys were raised.
local plan = cjson.decode(ARGV[3])
local refused = closed()
if refused then
  return refused
end
if call('EXISTS', prefix .. 'raised') == 1 then
  return {'raised'}
end
for kind in pairs(unsettled) do
  for _, state in ipairs(plan.states) do
    local ids = {}
    for i, m in ipairs(call('ZRANGE', base .. 'by:newest:' .. kind .. ':' .. state, 0, -1)) do
      ids[i] = sub(m, 45)
    end
    batches(ids, 500, function(...)
      for i, row in ipairs(call('HMGET', items, ...)) do
        for n, m in ipairs(row and members(select(i, ...), kept(row)) or {}) do
          if sub(m[1], 1, 10) == 'by:status:' then
            soon('ZADD', base .. m[1], 0, m[2])
          end
        end
      end
    end)
  end
end
flush()
call('HSET', life, 'unsettled', 1)
return {'ok'}
