-- Describes agents from their indexes. ARGV: prefix, the plan, the bound of the time that predictions were due before, and an
-- id and a prefix for each agent. Returns a list for each: live episodes, 1 if it dreams, overdue predictions, 1 if an item
-- waits for a review, and the state, the place and the status of its newest dreams of each state.
local prefix, plan, due = ARGV[1], cjson.decode(ARGV[2]), ARGV[3]
local call = redis.call
local out = {}

-- overdue counts the open ones among the predictions that were due last.
local function overdue(base)
  local last = call('ZREVRANGEBYLEX', base .. 'by:due:prediction:live', due, '-', 'LIMIT', 0, plan.last)
  local n = 0
  for _, m in ipairs(last) do
    local row = call('HGET', base .. 'items', sub(m, 45))
    if row and status(row) == plan.open then
      n = n + 1
    end
  end
  return n
end

for i = 4, #ARGV, 2 do
  local base = ARGV[i + 1]
  local waiting = {}
  for k, kind in ipairs(plan.waits) do
    waiting[k] = base .. 'by:newest:' .. kind .. ':proposed'
  end
  local a = {
    call('ZCARD', base .. 'by:newest:episode:live'),
    call('HEXISTS', prefix .. 'slots', ARGV[i]),
    due == '' and 0 or overdue(base),
    #waiting > 0 and call('EXISTS', unpack(waiting)) > 0 and 1 or 0,
  }
  for _, state in ipairs(plan.states) do
    for _, m in ipairs(call('ZRANGE', base .. 'by:newest:' .. plan.kind .. ':' .. state, 0, plan.dreams - 1)) do
      local row = call('HGET', base .. 'items', sub(m, 45))
      if row then
        a[#a + 1] = state
        a[#a + 1] = m
        a[#a + 1] = status(row)
      end
    end
  end
  out[#out + 1] = a
end
return out
