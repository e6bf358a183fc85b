-- Lets a claim that nobody answered block its twin for longer. KEYS: its claim. ARGV: prefix, digest, when it was claimed, when
-- it ends now, and since when one still stands.
local c = redis.call('HMGET', KEYS[1], 'digest', 'at', 'status')
if c[1] == ARGV[2] and c[2] == ARGV[3] and c[2] > ARGV[5] and not c[3] then
  redis.call('HSET', KEYS[1], 'ends', ARGV[4])
end
return 'ok'
