-- An agent's record by id, else by handle. ARGV: prefix, id or handle.
local record = redis.call('HGET', ARGV[1] .. 'agents', ARGV[2])
if record then
  return record
end
local id = redis.call('HGET', ARGV[1] .. 'handles', ARGV[2])
return id and redis.call('HGET', ARGV[1] .. 'agents', id)
