-- ARGV: prefix, list or empty for all rows, from (0, 1, 2, ...), how many. Returns the next position, or 0 at the end, and
-- for each row its fields, or packed sums as the field sums.
local from, count = tonumber(ARGV[3]), tonumber(ARGV[4])
local found, last, upto, asks = {}, nil, nil, {}
if ARGV[2] == '' then
  last = tonumber(redis.call('GET', P .. 'rows') or '0')
  local folded = tonumber(redis.call('GET', P .. 'folded') or '0')
  if from < folded then
    found = redis.call('ZRANGEBYSCORE', P .. 'unfolded', '(' .. string.format('%.0f', from), '+inf', 'LIMIT', 0, count)
    from = #found == count and tonumber(found[count]) or folded
  end
  upto = math.min(from + count - #found, last)
  for seq = from + 1, upto do found[#found + 1] = seq end
else
  last, upto = redis.call('LLEN', P .. ARGV[2]), from + count
  found = redis.call('LRANGE', P .. ARGV[2], from, upto - 1)
end
local out = {upto < last and upto or 0}
for _, seq in ipairs(found) do
  if string.sub(seq, 1, 1) == '=' then
    out[#out + 1] = {'sums', redis.call('HGET', P .. 'sums', string.sub(seq, 2)) or ''}
  else
    out[#out + 1] = fields(seq, asks)
  end
end
return out
