-- Prolongs the time for which a claim blocks the same request. KEYS: the claim. ARGV: prefix, digest, time of the claim, its
-- new end, and the time after which a claim is still valid.
local c = redis.call('HMGET', KEYS[1], 'digest', 'at', 'status')
if c[1] == ARGV[2] and c[2] == ARGV[3] and c[2] > ARGV[5] and not c[3] then
  redis.call('HSET', KEYS[1], 'ends', ARGV[4])
end
return 'ok'
