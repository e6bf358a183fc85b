-- Returns an agent's record by id, else by handle; 1 when the agent with that id was removed. ARGV: prefix, id or handle,
-- the key of the counters of the agent with the name as its id.
local record = redis.call('HGET', ARGV[1] .. 'agents', ARGV[2])
if record then
  return record
end
local id = redis.call('HGET', ARGV[1] .. 'handles', ARGV[2])
if id then
  return redis.call('HGET', ARGV[1] .. 'agents', id)
end
return redis.call('HEXISTS', ARGV[3], 'removed')
