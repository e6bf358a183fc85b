-- KEYS: life, leases. ARGV: prefix, client, now, lock. An expired lease does not count.
local life, leases = KEYS[1], KEYS[2]
local client, now, lock = ARGV[2], ARGV[3], ARGV[4]
local kept = redis.call('HGET', leases, client)
if kept and cjson.decode(kept)['until'] > now then
  redis.call('HDEL', leases, client)
  later(life, 'lock', lock)
  later(life, 'seen', now)
end
return standing(life, leases)
