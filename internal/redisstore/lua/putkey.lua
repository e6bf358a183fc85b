-- Creates or replaces an API key, and requires keys from now on. KEYS: keys, hashes of keys, whether keys are required. ARGV:
-- prefix, id, hash, body.
local id, hash = ARGV[2], ARGV[3]
local owner = redis.call('HGET', KEYS[2], hash)
if owner and owner ~= id then
  return 'taken'
end
local before = redis.call('HGET', KEYS[1], id)
if before then
  if cjson.decode(before).revoked and not cjson.decode(ARGV[4]).revoked then return 'revoked' end
  redis.call('HDEL', KEYS[2], cjson.decode(before).hash)
end
redis.call('HSET', KEYS[1], id, ARGV[4])
redis.call('HSET', KEYS[2], hash, id)
redis.call('SET', KEYS[3], '1')
return 'ok'
