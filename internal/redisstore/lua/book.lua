-- The spend ledger. An attempt is a row: the hash m:row:<seq>. m:step:<step> lists the rows of a step in the order of their
-- attempts, m:dream:<dream> those of a dream, m:day:<day>:<agent> those of an agent's day, and m:awake:<agent> those of calls
-- while awake whose answers have not been deleted. m:opens:<dream> is the set of a dream's open attempts, and m:open the set
-- of dreams that have any.
--
-- The request of an attempt is JSON in the field ask. For a dream it is stored in the hash m:asks, under the name in the row's
-- field asked, because all attempts of a phase have the same accounts. Step, model and time are then fields of the row.
--
-- Rows of the past are folded: m:sums is a hash of <agent>:<day>:<dream> -> packed sums, the lists of a dream and of a day
-- begin with "=" and such a name for each. Of the rows up to the number m:folded only those of the sorted set m:unfolded are
-- left: rows that had to stay, such as those of a dream that waits, while later ones were folded.
--
-- m:spent:<agent> is a hash of a day -> what its rows and sums count for together, as numbers in a text: calls, amounts of
-- open rows, of lost ones and of the others, and tokens (in, cached, out). m:spenders is the set of agents that have one.
-- Folding changes nothing of it.
--
-- An export reads the ledger as of one moment while others write (archive_moment.go). Most writes add a row or end an open one,
-- which it can tell. m:changes counts the others, and m:change:<n> keeps for an hour what the n-th of them replaced: the fields
-- row:<seq> (JSON), sum:<name> and allowance:<dream> (key and amount), empty where there was none; late, the number of a row
-- whose amounts changed; and answer, a step that had none. Deleted answers are not kept: an export leaves them out.
local P = ARGV[1] .. 'm:'

local function row(seq) return P .. 'row:' .. seq end

-- fields returns the fields and values of a row, with the ask that it shares as the field ask. asks caches these by name.
local function fields(seq, asks)
  local r = redis.call('HGETALL', row(seq))
  for i = 1, #r, 2 do
    if r[i] == 'asked' then
      local name = r[i + 1]
      asks[name] = asks[name] or redis.call('HGET', P .. 'asks', name)
      r[#r + 1] = 'ask'
      r[#r + 1] = asks[name]
      break
    end
  end
  return r
end

-- begin_change counts a change and returns the key of what it replaces, which end_change lets go after an hour.
local function begin_change() return P .. 'change:' .. string.format('%.0f', redis.call('INCR', P .. 'changes')) end
local function end_change(key) redis.call('EXPIRE', key, 3600) end

-- keep_row keeps a row as it is before a change.
local function keep_row(key, seq, asks)
  local r, was = fields(seq, asks), {}
  for i = 1, #r, 2 do was[r[i]] = r[i + 1] end
  redis.call('HSET', key, 'row:' .. seq, cjson.encode(was))
end

-- keep_total writes the total of a day, where one was kept or not.
local function keep_total(agent, day, kept, total)
  redis.call('HSET', P .. 'spent:' .. agent, day, total)
  if not kept then redis.call('SADD', P .. 'spenders', agent) end
end
local NOTHING = '0 0 0 0 0 0 0'

-- count_open counts a new row in the total of its day.
local function count_open(agent, day, amount)
  local kept = redis.call('HGET', P .. 'spent:' .. agent, day)
  local calls, open, rest = string.match(kept or NOTHING, '^(%d+) (%d+) (.*)$')
  keep_total(agent, day, kept,
    string.format('%.0f ', tonumber(calls) + 1) .. spell(add(money(open), amount)) .. ' ' .. rest)
end

-- places of the amounts in a total of a day, by state; 4 is that of the others
local PLACE = {open = 2, unknown = 3}

-- count_end changes the total of a day by a row that ends, or ends otherwise: was and is are a state, its amount and its
-- tokens.
local function count_end(agent, day, was, is)
  local kept = redis.call('HGET', P .. 'spent:' .. agent, day)
  local t = {string.match(kept or NOTHING, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')}
  local from, to = PLACE[was.state] or 4, PLACE[is.state] or 4
  t[from] = spell(minus(money(t[from]), was.amount))
  t[to] = spell(add(money(t[to]), is.amount))
  for i = 1, 3 do
    local more = is.tokens[i] - was.tokens[i]
    if more ~= 0 then t[4 + i] = string.format('%.0f', tonumber(t[4 + i]) + more) end
  end
  keep_total(agent, day, kept, table.concat(t, ' '))
end

-- tokens_of reads the tokens of a row: in, cached, out.
local function tokens_of(text)
  local read = cjson.decode(text or '{}')
  return {read['in'] or 0, read.cached or 0, read.out or 0}
end

-- read_row returns what end_row needs of a row: state, counted, ask, the name of a shared ask, step and tokens; and its amount
-- reserved, and whether its answer must not be kept.
local function read_row(seq)
  return redis.call('HMGET', row(seq), 'state', 'counted', 'ask', 'asked', 'step', 'tokens', 'reserved', 'mute')
end

-- end_row replaces what an attempt counted by its final amount, in every account and in the total of its day. now is what
-- read_row returned; further fields of the row follow, with their values.
local function end_row(seq, now, state, counted, at, tokens, ...)
  local before, ask = money(now[2]), cjson.decode(now[3] or redis.call('HGET', P .. 'asks', now[4]))
  local booked = {}
  for _, account in ipairs(ask.accounts or {}) do
    if not booked[account.scope] then
      booked[account.scope] = true
      local key = P .. 'account:' .. account.scope
      local sums = redis.call('HMGET', key, 'reserved', 'spent')
      local reserved, spent = money(sums[1]), money(sums[2])
      if now[1] == 'open' then
        reserved = minus(reserved, before)
      else
        spent = minus(spent, before)
      end
      redis.call('HSET', key, 'reserved', spell(reserved), 'spent', spell(plus(spent, counted)))
    end
  end
  local was = now[1] == 'open' and {0, 0, 0} or tokens_of(now[6])
  count_end(ask.agent or '', ask.day or '', {state = now[1], amount = before, tokens = was},
    {state = state, amount = counted, tokens = tokens})
  if now[1] == 'open' then
    local dream = ask.dream or ''
    redis.call('SREM', P .. 'opens:' .. dream, seq)
    if redis.call('EXISTS', P .. 'opens:' .. dream) == 0 then redis.call('SREM', P .. 'open', dream) end
  end
  redis.call('HSET', row(seq), 'state', state, 'counted', spell(counted), 'ended', at,
    'latest', redis.call('LLEN', P .. 'step:' .. now[5]), ...)
end

-- drop_rows deletes the answers of the steps of these rows, and marks the rows that may still bring one.
local function drop_rows(rows)
  local still, asks, key = {}, {}, nil
  for _, seq in ipairs(rows) do
    local now = redis.call('HMGET', row(seq), 'state', 'step', 'mute')
    if now[2] then redis.call('DEL', P .. 'answer:' .. now[2]) end
    if now[1] == 'open' or now[1] == 'unknown' then
      if now[1] == 'unknown' and not now[3] then
        key = key or begin_change()
        keep_row(key, seq, asks)
      end
      redis.call('HSET', row(seq), 'mute', 1)
      still[#still + 1] = seq
    end
  end
  if key then end_change(key) end
  return still
end

-- drop_dream deletes the answers of a dream.
local function drop_dream(dream)
  drop_rows(redis.call('LRANGE', P .. 'dream:' .. dream, 0, -1))
end

-- drop_awake deletes what was bought for an agent while awake. Rows that have ended bring no more answers and leave the list.
-- Where calls stay, the answers of calls in rooms do: whoever takes up such a call must not buy it again.
local function drop_awake(agent, calls_stay)
  local key = P .. 'awake:' .. agent
  local rows, kept = {}, {}
  for _, seq in ipairs(redis.call('LRANGE', key, 0, -1)) do
    local step = redis.call('HGET', row(seq), 'step')
    local list = rows
    if calls_stay and step and string.sub(step, 1, 5) == 'call/' then list = kept end
    list[#list + 1] = seq
  end
  local still = drop_rows(rows)
  redis.call('DEL', key)
  for _, seq in ipairs(kept) do redis.call('RPUSH', key, seq) end
  for _, seq in ipairs(still) do redis.call('RPUSH', key, seq) end
end
