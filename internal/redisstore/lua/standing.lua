-- KEYS: life, leases. ARGV: prefix.
return standing(KEYS[1], KEYS[2])
