-- KEYS: the accounts, in the order of the ask. ARGV: prefix, token, lost, step, agent, dream, day, amount, ask, the ask's name
-- if rows share it, model, at, limits...
local token, lost, step, agent, dream, day, ask = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[9]
local amount = money(ARGV[8])
if lost == '1' then -- an earlier try may have booked it
  for n, seq in ipairs(redis.call('LRANGE', P .. 'step:' .. step, 0, -1)) do
    if redis.call('HGET', row(seq), 'token') == token then return {'granted', n} end
  end
end
if redis.call('EXISTS', P .. 'answer:' .. step) == 1 then return {'answered'} end
for i, key in ipairs(KEYS) do
  local sums = redis.call('HMGET', key, 'reserved', 'spent')
  local counted = plus(money(sums[1]), money(sums[2]))
  local limit = ARGV[12 + i]
  if string.sub(limit, 1, 1) == '-' or above(counted, money(limit)) or above(amount, minus(money(limit), counted)) then
    return {'over', i, spell(counted)}
  end
end
local booked = {}
for _, key in ipairs(KEYS) do
  if not booked[key] then
    booked[key] = true
    local sums = redis.call('HMGET', key, 'reserved', 'spent')
    redis.call('HSET', key, 'reserved', spell(plus(money(sums[1]), amount)), 'spent', sums[2] or '0')
  end
end
local seq = redis.call('INCR', P .. 'rows')
local attempt = redis.call('RPUSH', P .. 'step:' .. step, seq)
redis.call('HSET', row(seq), 'step', step, 'attempt', attempt, 'token', token,
  'reserved', spell(amount), 'counted', spell(amount), 'state', 'open')
if ARGV[10] == '' then
  redis.call('HSET', row(seq), 'ask', ask)
else
  redis.call('HSETNX', P .. 'asks', ARGV[10], ask)
  redis.call('HSET', row(seq), 'asked', ARGV[10], 'model', ARGV[11], 'at', ARGV[12])
end
count_day(agent, day, nil, {state = 'open', amount = amount, tokens = {0, 0, 0}})
redis.call('SADD', P .. 'opens:' .. dream, seq)
redis.call('SADD', P .. 'open', dream)
redis.call('RPUSH', P .. 'day:' .. day .. ':' .. agent, seq)
if dream == '' then
  redis.call('RPUSH', P .. 'awake:' .. agent, seq)
else
  redis.call('RPUSH', P .. 'dream:' .. dream, seq)
end
return {'granted', attempt}
