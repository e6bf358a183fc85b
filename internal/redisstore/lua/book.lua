-- The book. An attempt is a row: the hash m:row:<seq>. m:step:<step> lists the rows of a step in the order of their attempts,
-- m:dream:<dream> those of a dream, m:day:<day>:<agent> those of an agent's day, m:awake:<agent> those of an agent awake whose
-- answers have not been dropped, and m:opens:<dream> is the set of a dream's open ones; m:open is the set of dreams that have any.
--
-- What an attempt was asked for is JSON in the field ask; of a dream's attempt it lies in the hash m:asks, under the name that the
-- row's field asked tells, because all attempts of a phase were asked for under the same accounts. Step, model and time are the row's own then.
local P = ARGV[1] .. 'm:'

local function row(seq) return P .. 'row:' .. seq end

-- end_row moves an attempt from what it counted to what it counts from now on, in every account.
local function end_row(seq, state, counted, at)
  local now = redis.call('HMGET', row(seq), 'state', 'counted', 'ask', 'asked')
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
    'latest', redis.call('LLEN', P .. 'step:' .. redis.call('HGET', row(seq), 'step')))
end

-- drop_rows removes the answers of the steps of these rows, and marks the rows that may still bring one.
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

-- drop_dream forgets the answers of a dream.
local function drop_dream(dream)
  drop_rows(redis.call('LRANGE', P .. 'dream:' .. dream, 0, -1))
end

-- drop_awake forgets what was bought for an agent awake. Rows that have ended can bring no answer any more and leave the list.
local function drop_awake(agent)
  local key = P .. 'awake:' .. agent
  local still = drop_rows(redis.call('LRANGE', key, 0, -1))
  redis.call('DEL', key)
  for _, seq in ipairs(still) do redis.call('RPUSH', key, seq) end
end
