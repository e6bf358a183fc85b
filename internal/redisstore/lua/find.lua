-- One page of the result of a query. The plan has an order and the pairs of kind and state to read in it, or a set; the
-- conditions of each item; where to begin; and how many items may be read. ARGV[4] and ARGV[5] bound the order, ARGV[6] is
-- the member to continue after, ARGV[7] the key and text of the last one within the limit: items equal in both are returned
-- too, because the caller sorts them by whole texts.
-- Returns: pulse, done (0 or 1), pair, found in it, member, key and text, count, rows.
local plan = cjson.decode(ARGV[3])
local out, count = {}, 0

local function earlier(s, n, than)
  return s < than[1] or s == than[1] and n < than[2]
end

local function wanted(list, value)
  if not list then
    return true
  end
  for _, v in ipairs(list) do
    if v == value then
      return true
    end
  end
  return false
end

local function fits(item)
  local m = item.marks
  return wanted(plan.kinds, item.kind) and wanted(plan.states, m.s) and wanted(plan.statuses, m.st or '') and
    (not plan.owners or wanted(plan.owners, ownerof(item))) and (not plan.dream or plan.dream == m.dr) and (not plan.session or plan.session == m.se) and
    (not plan.salient or (m.sa or 0) >= plan.salient) and (not plan.score or (m.sc or 0) >= plan.score) and
    not (plan.since and earlier(m.a, m.an or 0, plan.since)) and
    not (plan['until'] and not earlier(m.a, m.an or 0, plan['until'])) and
    not (plan.dated and not m.d) and
    not (plan.due and not (m.d and earlier(m.d, m.dn or 0, plan.due)))
end

-- take reads items by id and keeps those that match; it returns which did.
local function take(ids)
  local fit = {}
  batches(ids, 500, function(...)
    for i, row in ipairs(call('HMGET', items, ...)) do
      local id = select(i, ...)
      local good = row and not (plan.lacks and call('HEXISTS', base .. 'vectors:' .. plan.lacks, id) == 1)
      if good and plan.strict then
        good = fits(kept(row))
      end
      fit[#fit + 1] = good and row or false
    end
  end)
  return fit
end

local function keep(row)
  count = count + 1
  if not plan.count then
    out[#out + 1] = row
  end
end

local pulse = number('pulse')
if plan.by == 'by:status:' and not call('HGET', life, 'unsettled') and call('EXISTS', items) == 1 then
  return {'unsorted'}
end
if plan.bare then
  if plan.bare == (call('HGET', life, 'space') or '') then
    plan.by = 'bare:'
  else
    plan.lacks = plan.bare -- some of it may have been collected
  end
end
if plan.set then
  for _, row in ipairs(take(call('SMEMBERS', base .. plan.set))) do
    if row then
      keep(row)
    end
  end
  return {pulse, 1, 0, 0, '', '', count, out}
end
if plan.count and not plan.strict then
  for _, pair in ipairs(plan.pairs) do
    count = count + call('ZLEXCOUNT', base .. plan.by .. pair, ARGV[4], ARGV[5])
  end
  return {pulse, 1, 0, 0, '', '', count, out}
end

local pair, found, after, tie = plan.pair, plan.found, ARGV[6], ARGV[7]
local room = plan.scan
while pair <= #plan.pairs do
  local ended = false
  local by, key, lower, upper = plan.by, plan.key, ARGV[4], ARGV[5]
  if by == 'by:salient:' and sub(plan.pairs[pair], 1, 8) ~= 'episode:' then -- all have the same salience, and the newest comes first
    by, key, lower, upper = 'by:newest:', 12, '-', '+'
  end
  while not ended do
    if room <= 0 then
      return {pulse, 0, pair, found, after, tie, count, out}
    end
    local ask = math.min(room, 500)
    if plan.limit > 0 and not plan.strict and not plan.lacks then
      ask = math.min(ask, math.max(plan.limit - found, 0) + 8)
    end
    local from = after == '' and lower or '(' .. after
    local list = call('ZRANGEBYLEX', base .. by .. plan.pairs[pair], from, upper, 'LIMIT', 0, ask)
    local ids = {}
    for i, m in ipairs(list) do
      ids[i] = sub(m, key + 33)
    end
    local fit = take(ids)
    for i, m in ipairs(list) do
      local here = sub(m, 1, key + 32)
      if plan.limit > 0 and found >= plan.limit and here ~= tie then
        ended = true
        break
      end
      after = m
      if fit[i] then
        found = found + 1
        keep(fit[i])
        if found == plan.limit then
          tie = here
        end
      end
    end
    room = room - #list
    ended = ended or #list < ask
  end
  pair, found, after, tie = pair + 1, 0, '', ''
end
return {pulse, 1, pair, found, after, tie, count, out}
