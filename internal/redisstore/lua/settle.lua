-- ARGV: prefix, step, attempt, state, amount, at, answered (0 or 1), answer, tokens in JSON, and further fields of the row with
-- their values. A second call changes nothing.
local step, attempt, state, amount = ARGV[2], tonumber(ARGV[3]), ARGV[4], money(ARGV[5])
local seq = attempt >= 1 and redis.call('LINDEX', P .. 'step:' .. step, attempt - 1)
if not seq then return 'missing' end
local now = redis.call('HMGET', row(seq), 'state', 'reserved', 'mute')
if now[1] ~= 'open' and now[1] ~= 'unknown' then return 'ended' end
if state == 'refused' then
  amount = {0, 0}
elseif state ~= 'settled' and above(money(now[2]), amount) then
  amount = money(now[2]) -- an unknown amount never counts less than was reserved
end
end_row(seq, state, amount, ARGV[6], tokens_of(ARGV[9]))
redis.call('HSET', row(seq), 'tokens', ARGV[9], unpack(ARGV, 10))
if ARGV[7] == '1' and not now[3] then redis.call('SETNX', P .. 'answer:' .. step, ARGV[8]) end
return 'settled'
