-- Describes agents from their indexes. ARGV: prefix, the plan, the bound of the time that predictions were due before, and an
-- id and a prefix for each agent. Returns a list for each: live episodes, 1 if it dreams, overdue predictions, 1 if an item
-- waits for a review, and the state, the place and the status of its newest dreams of each state.
local prefix, plan, due = ARGV[1], cjson.decode(ARGV[2]), ARGV[3]
local call = redis.call
local out = {}

local dreaming = {}
for _, agent in ipairs(call('HKEYS', prefix .. 'slots')) do
  dreaming[agent] = true
end

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

-- usually returns which places are among the newest of the usual status, whose order spares reading their rows.
local function usually(order, n)
  local those = {}
  for _, m in ipairs(call('ZRANGE', order, 0, n - 1)) do those[m] = true end
  return those
end

-- Most agents have no key of some kinds, such as that of what waits for a review. One command looks for those of several
-- agents, and only where it finds one are they read one by one.
local TOGETHER = 25
local function found(part, first)
  if not part then
    return false
  end
  local keys = {}
  for i = first, math.min(first + 2 * TOGETHER - 2, #ARGV), 2 do
    keys[#keys + 1] = ARGV[i + 1] .. part
  end
  return call('EXISTS', unpack(keys)) > 0
end

local waiting, dated, dreamt = false, false, {}
for i = 4, #ARGV, 2 do
  local base = ARGV[i + 1]
  if (i - 4) % (2 * TOGETHER) == 0 then
    waiting = #plan.waits > 1 or found(plan.waits[1], i)
    dated = due ~= '' and found('by:due:prediction:live', i)
    for _, state in ipairs(plan.states) do
      dreamt[state] = found(plan.by .. state, i)
    end
  end
  local a = {
    plan.episodes and call('ZCARD', base .. 'by:newest:episode:live') or 0,
    dreaming[ARGV[i]] and 1 or 0,
    dated and overdue(base) or 0,
    waiting and waits(base) and 1 or 0,
  }
  local rows = base .. 'items'
  for _, state in ipairs(plan.states) do
    local places = dreamt[state] and call('ZRANGE', base .. plan.by .. state, 0, plan.dreams - 1) or {}
    local usual = #places > 0 and plan.usual_by and usually(base .. plan.usual_by .. state, #places) or {}
    for _, m in ipairs(places) do
      local found = usual[m] and plan.usual
      if not found then
        local row = call('HGET', rows, sub(m, 45))
        found = row and status(row)
      end
      if found then
        local n = #a
        a[n + 1], a[n + 2], a[n + 3] = state, m, found
      end
    end
  end
  out[#out + 1] = a
end
return out
