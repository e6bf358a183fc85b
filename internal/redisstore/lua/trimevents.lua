-- Removes events up to a number. ARGV: prefix, the stream, the set of ids, the number, and the ids of the events.
redis.call('XTRIM', ARGV[2], 'MINID', string.format('%.0f-0', tonumber(ARGV[4]) + 1))
for i = 5, #ARGV do redis.call('SREM', ARGV[3], ARGV[i]) end
return 'ok'
