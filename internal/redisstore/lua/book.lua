-- The spend ledger. An attempt is a row: the hash m:row:<seq>. m:step:<step> lists the rows of a step in the order of their
-- attempts, m:dream:<dream> those of a dream, m:day:<day>:<agent> those of an agent's day, and m:awake:<agent> those of calls
-- while awake whose answers have not been deleted. m:opens:<dream> is the set of a dream's open attempts, and m:open the set
-- of dreams that have any.
--
-- The request of an attempt is JSON in the field ask. For a dream it is stored in the hash m:asks, under the name in the row's
-- field asked, because all attempts of a phase have the same accounts. Step, model and time are then fields of the row.
--
-- Rows of the past are folded: m:sums is a hash of <agent>:<day>:<dream> -> packed sums, the lists of a dream and of a day
-- begin with "=" and such a name for each, and no row is left up to m:folded.
local P = ARGV[1] .. 'm:'

local function row(seq) return P .. 'row:' .. seq end

-- end_row replaces what an attempt counted by its final amount, in every account.
local function end_row(seq, state, counted, at)
  local now = redis.call('HMGET', row(seq), 'state', 'counted', 'ask', 'asked', 'step')
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
  if now[1] == 'open' then
    local dream = ask.dream or ''
    redis.call('SREM', P .. 'opens:' .. dream, seq)
    if redis.call('EXISTS', P .. 'opens:' .. dream) == 0 then redis.call('SREM', P .. 'open', dream) end
  end
  redis.call('HSET', row(seq), 'state', state, 'counted', spell(counted), 'ended', at,
    'latest', redis.call('LLEN', P .. 'step:' .. now[5]))
end

-- drop_rows deletes the answers of the steps of these rows, and marks the rows that may still bring one.
local function drop_rows(rows)
  local still = {}
  for _, seq in ipairs(rows) do
    local now = redis.call('HMGET', row(seq), 'state', 'step')
    if now[2] then redis.call('DEL', P .. 'answer:' .. now[2]) end
    if now[1] == 'open' or now[1] == 'unknown' then
      redis.call('HSET', row(seq), 'mute', 1)
      still[#still + 1] = seq
    end
  end
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
