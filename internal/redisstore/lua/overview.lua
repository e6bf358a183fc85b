-- Describes agents from their indexes. ARGV: prefix, the plan, the bound of the time that predictions were due before, and a
-- prefix for each agent. Returns the ids of the agents that dream, and for each agent: live episodes, overdue predictions, 1 if
-- an item waits for a review, how many of its newest dreams follow, and the state, the place and the status of each.
local plan, due = cjson.decode(ARGV[2]), ARGV[3]
local call = redis.call

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

-- waits reports whether one of the keys of what waits for a review exists.
local function waits(base)
  local keys = {}
  for i, key in ipairs(plan.waits) do
    keys[i] = base .. key
  end
  return #keys > 0 and call('EXISTS', unpack(keys)) > 0
end

-- Most agents have no key of some kinds, such as that of what waits for a review. One command looks for those of several
-- agents, and only where it finds one are they read one by one.
local TOGETHER = 25
local function found(part, first)
  if not part then
    return false
  end
  local keys = {}
  for i = first, math.min(first + TOGETHER - 1, #ARGV) do
    keys[#keys + 1] = ARGV[i] .. part
  end
  return call('EXISTS', unpack(keys)) > 0
end

-- What follows is run for each of very many agents: a number as an argument of a command is dear to write as a text, and a
-- table for each agent to clear away.
local last = tostring(plan.dreams - 1)
local out, n = {call('HKEYS', ARGV[1] .. 'slots')}, 1

-- dreams adds an agent's newest dreams of a state. The order of the usual status spares reading their rows.
local function dreams(base, state)
  local usual = plan.usual_by and base .. plan.usual_by .. state
  for _, m in ipairs(call('ZRANGE', base .. plan.by .. state, '0', last)) do
    local found = usual and call('ZSCORE', usual, m) and plan.usual
    if not found then
      local row = call('HGET', base .. 'items', sub(m, 45))
      found = row and status(row)
    end
    if found then
      out[n + 1], out[n + 2], out[n + 3] = state, m, found
      n = n + 3
    end
  end
end

local waiting, dated, dreamt = false, false, {}
for i = 4, #ARGV do
  local base = ARGV[i]
  if (i - 4) % TOGETHER == 0 then
    waiting = #plan.waits > 1 or found(plan.waits[1], i)
    dated = due ~= '' and found('by:due:prediction:live', i)
    for _, state in ipairs(plan.states) do
      dreamt[state] = state == 'live' or found(plan.by .. state, i)
    end
  end
  out[n + 1] = plan.episodes and call('ZCARD', base .. 'by:newest:episode:live') or 0
  out[n + 2] = dated and overdue(base) or 0
  out[n + 3] = waiting and waits(base) and 1 or 0
  n = n + 4
  local counted = n
  for _, state in ipairs(plan.states) do
    if dreamt[state] then
      dreams(base, state)
    end
  end
  out[counted] = (n - counted) / 3
end
return out
