-- Sorts the records of agents' dreams by their statuses, and collects what waits for a review, as place in memory.lua does: an
-- older program did neither. ARGV: prefix, the plan, and a prefix for each agent.
local plan, call = cjson.decode(ARGV[2]), redis.call
for i = 3, #ARGV do
  local base = ARGV[i]
  for _, state in ipairs(plan.states) do
    for _, st in ipairs(plan.statuses) do
      call('DEL', base .. 'by:status:' .. st .. ':' .. state)
    end
    for _, m in ipairs(call('ZRANGE', base .. 'by:newest:night:' .. state, 0, -1)) do
      local row = call('HGET', base .. 'items', sub(m, 45))
      if row then
        call('ZADD', base .. 'by:status:' .. status(row) .. ':' .. state, 0, m)
      end
    end
  end
  call('DEL', base .. 'by:proposed')
  for _, kind in ipairs(plan.kinds) do
    for _, m in ipairs(call('ZRANGE', base .. 'by:newest:' .. kind .. ':proposed', 0, -1)) do
      call('SADD', base .. 'by:proposed', sub(m, 45))
    end
  end
end
return #ARGV - 2
