-- Replaces an agent's embedding job, if it is still the one that was read, or removes it. ARGV: prefix, agent, the job that
-- was read (empty: none), the new one (empty: none).
local at = ARGV[1] .. 'embed_jobs'
if (redis.call('HGET', at, ARGV[2]) or '') ~= ARGV[3] then
  return 'torn'
end
if ARGV[4] == '' then
  redis.call('HDEL', at, ARGV[2])
else
  redis.call('HSET', at, ARGV[2], ARGV[4])
end
return 'ok'
