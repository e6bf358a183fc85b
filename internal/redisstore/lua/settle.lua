-- ARGV: prefix, step, attempt, state, amount, at, answered (0 or 1), answer, tokens in JSON, and further fields of the row with
-- their values. A second call changes nothing.
local step, attempt, state, amount = ARGV[2], tonumber(ARGV[3]), ARGV[4], money(ARGV[5])
local seq = attempt >= 1 and redis.call('LINDEX', P .. 'step:' .. step, attempt - 1)
if not seq then return 'missing' end
local now = read_row(seq)
local reserved, mute = money(now[7]), now[8]
if now[1] ~= 'open' and now[1] ~= 'unknown' then return 'ended' end
if state == 'refused' then
  amount = {0, 0}
elseif state ~= 'settled' and above(reserved, amount) then
  amount = reserved -- an unknown amount never counts less than was reserved
end
local late = now[1] == 'unknown' and begin_change()
if late then
  keep_row(late, seq, {})
  redis.call('HSET', late, 'late', seq)
end
end_row(seq, now, state, amount, ARGV[6], tokens_of(ARGV[9]), 'tokens', ARGV[9], unpack(ARGV, 10))
if ARGV[7] == '1' and not mute then
  local new = redis.call('SETNX', P .. 'answer:' .. step, ARGV[8])
  if late and new == 1 then redis.call('HSET', late, 'answer', step) end
end
if late then end_change(late) end
return 'settled'
