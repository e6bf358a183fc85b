-- KEYS: life, leases. ARGV: prefix.
redis.call('DEL', KEYS[2])
redis.call('HDEL', KEYS[1], 'lock')
return standing(KEYS[1], KEYS[2])
