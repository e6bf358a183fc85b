-- Keeps a response, whose body follows the plan. The plan: its key, the key of the responses of its scope, its fields, how
-- long the server keeps it at most in milliseconds (0: for ever), how many of the scope are kept at most (0: any number),
-- and its time in microseconds.
local plan = cjson.decode(ARGV[3])
local refused = closed()
if refused then
  return refused
end
local key, scope = plan.key, plan.scope
call('DEL', key)
call('HSET', key, 'user', plan.user, 'agent', plan.agent, 'previous', plan.previous, 'at', plan.at, 'until', plan['until'],
  'body', ARGV[4])
if plan.keep > 0 then
  call('PEXPIRE', key, plan.keep)
end
call('ZADD', scope, plan.micros, key)
local count = call('ZCARD', scope)
if plan.most > 0 and count > plan.most then
  for _, oldest in ipairs(call('ZRANGE', scope, 0, count - plan.most - 1)) do
    call('DEL', oldest)
    call('ZREM', scope, oldest)
  end
end
-- What ended by itself is taken off from the oldest on, a few at a time.
for _, oldest in ipairs(call('ZRANGE', scope, 0, 9)) do
  if call('EXISTS', oldest) == 1 then
    break
  end
  call('ZREM', scope, oldest)
end
return {'ok'}
