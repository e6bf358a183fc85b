-- ARGV: prefix, agent, day, dream, amount, limit. A dream takes its allowance once; a second call changes nothing.
local agent, day, dream, amount, limit = ARGV[2], ARGV[3], ARGV[4], money(ARGV[5]), ARGV[6]
local mine, all = P .. 'allowance:' .. dream, P .. 'allowed:' .. day .. ':' .. agent
if redis.call('EXISTS', mine) == 1 then return {'granted'} end
local taken = {0, 0}
for _, one in ipairs(redis.call('HVALS', all)) do taken = plus(taken, money(one)) end
if string.sub(limit, 1, 1) == '-' or above(taken, money(limit)) or above(amount, minus(money(limit), taken)) then
  return {'over', spell(taken)}
end
redis.call('HSET', all, dream, spell(amount))
redis.call('SET', mine, all)
local change = begin_change()
redis.call('HSET', change, 'allowance:' .. dream, '')
end_change(change)
return {'granted'}
