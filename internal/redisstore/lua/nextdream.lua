-- Returns the agent's next dream number.
local plan = cjson.decode(ARGV[3])
return done(plan.token) or closed() or finish(plan.token, {'ok', call('HINCRBY', life, 'dreams', 1)})
