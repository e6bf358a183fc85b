-- Stores the response to a claimed request, or gives up the claim when there is no status. KEYS: the claim, the answered
-- claims of its scope. ARGV: prefix, digest, time of the claim, end of the response's validity, how long the server keeps it
-- at most in milliseconds, status, type, body, header, how many responses of the scope are kept at most (0: any number), the
-- times in microseconds of this claim and of the oldest valid one, and the replacement of a dropped response: status, type,
-- body.
local c = redis.call('HMGET', KEYS[1], 'digest', 'at', 'status')
if c[3] or (c[1] and c[1] ~= ARGV[2]) then
  return 'late'
end
if ARGV[6] == '' then
  if c[2] == ARGV[3] then
    redis.call('DEL', KEYS[1])
  end
  return 'ok'
end
redis.call('HSET', KEYS[1], 'digest', ARGV[2], 'at', c[2] or ARGV[3], 'ends', ARGV[4], 'status', ARGV[6], 'type', ARGV[7], 'body', ARGV[8], 'header', ARGV[9])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
local most = tonumber(ARGV[10])
if most > 0 then
  redis.call('ZADD', KEYS[2], ARGV[11], KEYS[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[12])
  local oldest = redis.call('ZRANGE', KEYS[2], 0, redis.call('ZCARD', KEYS[2]) - most - 1)
  if redis.call('ZCARD', KEYS[2]) <= most then
    oldest = {}
  end
  for _, claim in ipairs(oldest) do
    if redis.call('HEXISTS', claim, 'status') == 1 then
      redis.call('HSET', claim, 'status', ARGV[13], 'type', ARGV[14], 'body', ARGV[15], 'header', '')
    end
    redis.call('ZREM', KEYS[2], claim)
  end
end
return 'ok'
