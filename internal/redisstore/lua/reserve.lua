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
local sums = {}
for i, key in ipairs(KEYS) do
  local now = sums[key]
  if not now then
    local read = redis.call('HMGET', key, 'reserved', 'spent')
    now = {reserved = money(read[1]), spent = money(read[2]), new = not read[2]}
    sums[key] = now
  end
  local counted, limit = plus(now.reserved, now.spent), ARGV[12 + i]
  if string.sub(limit, 1, 1) == '-' or above(counted, money(limit)) or above(amount, minus(money(limit), counted)) then
    return {'over', i, spell(counted)}
  end
end
for key, now in pairs(sums) do
  redis.call('HSET', key, 'reserved', spell(plus(now.reserved, amount)), unpack(now.new and {'spent', '0'} or {}))
end
local seq = redis.call('INCR', P .. 'rows')
local attempt = redis.call('RPUSH', P .. 'step:' .. step, seq)
local own = {'ask', ask}
if ARGV[10] ~= '' then
  redis.call('HSETNX', P .. 'asks', ARGV[10], ask)
  own = {'asked', ARGV[10], 'model', ARGV[11], 'at', ARGV[12]}
end
redis.call('HSET', row(seq), 'step', step, 'attempt', attempt, 'token', token,
  'reserved', spell(amount), 'counted', spell(amount), 'state', 'open', unpack(own))
count_open(agent, day, amount)
redis.call('SADD', P .. 'opens:' .. dream, seq)
redis.call('SADD', P .. 'open', dream)
redis.call('RPUSH', P .. 'day:' .. day .. ':' .. agent, seq)
if dream == '' then
  redis.call('RPUSH', P .. 'awake:' .. agent, seq)
else
  redis.call('RPUSH', P .. 'dream:' .. dream, seq)
end
return {'granted', attempt}
