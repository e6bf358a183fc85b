-- ARGV: prefix, dream, at, token. The stored receipt is the reply to a repeated try.
local dream, at = ARGV[2], ARGV[3]
local receipt = P .. 'closed:' .. ARGV[4]
local said = redis.call('LRANGE', receipt, 0, -1)
if #said == 2 then return said end
local open = redis.call('SMEMBERS', P .. 'opens:' .. dream)
if #open == 0 then return {'0', '0'} end
local sum = {0, 0}
for _, seq in ipairs(open) do
  local now = read_row(seq)
  local counted = money(now[2])
  end_row(seq, now, 'unknown', counted, at, {0, 0, 0})
  sum = plus(sum, counted)
end
local answer = {tostring(#open), spell(sum)}
redis.call('RPUSH', receipt, answer[1], answer[2])
redis.call('EXPIRE', receipt, 3600)
return answer
