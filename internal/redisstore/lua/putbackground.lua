-- Adds a background, which follows the plan, to a conversation. The plan: the conversation, and the lifetime in seconds.
local plan = cjson.decode(ARGV[3])
local refused = closed()
if refused then
  return refused
end
local talk = base .. 'talk:' .. plan.talk
call('RPUSH', talk, ARGV[4])
call('EXPIRE', talk, plan.seconds)
return {'ok'}
