-- Takes a request to be done. KEYS: its claim. ARGV: prefix, digest, now, until when it blocks its twin unanswered, how long the
-- server keeps it at most in milliseconds, a token by which a try whose answer was lost is known again, and since when one that
-- was never answered still stands.
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
