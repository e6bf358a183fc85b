-- Claims a request for execution. KEYS: the claim. ARGV: prefix, digest, now, until when it blocks the same request, how long
-- the server keeps it at most in milliseconds, a token that identifies a repeated try, and the time after which an
-- unanswered claim is still valid.
local c = redis.call('HMGET', KEYS[1], 'digest', 'ends', 'status', 'type', 'body', 'token', 'header', 'at')
if c[1] and (c[2] > ARGV[3] or (not c[3] and c[8] > ARGV[7])) then
  if c[1] ~= ARGV[2] then
    return {'other'}
  end
  if c[3] then
    return {'said', c[3], c[4], c[5], c[7] or ''}
  end
  if c[6] ~= ARGV[6] then
    if c[2] > ARGV[3] then
      return {'busy'}
    end
    return {'lost'}
  end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'digest', ARGV[2], 'at', ARGV[3], 'ends', ARGV[4], 'token', ARGV[6])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return {'yours'}
