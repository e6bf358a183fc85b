-- Removes the responses of an agent. KEYS: responses. ARGV: prefix, agent.
for _, response in ipairs(KEYS) do
  if redis.call('HGET', response, 'agent') == ARGV[2] then
    redis.call('DEL', response)
  end
end
return 'ok'
