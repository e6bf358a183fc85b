-- ARGV: prefix, list or empty for all rows, from (0, 1, 2, ...), how many. Returns the next position, or 0 at the end, and
-- for each row its fields and values, with the ask that it shares as the field ask, or packed sums as the field sums.
local from, count = tonumber(ARGV[3]), tonumber(ARGV[4])
local found, last, asks = {}, nil, {}
if ARGV[2] == '' then
  last = tonumber(redis.call('GET', P .. 'rows') or '0')
  from = math.max(from, tonumber(redis.call('GET', P .. 'folded') or '0'))
  for seq = from + 1, math.min(from + count, last) do found[#found + 1] = seq end
else
  last = redis.call('LLEN', P .. ARGV[2])
  found = redis.call('LRANGE', P .. ARGV[2], from, from + count - 1)
end
local out = {from + count < last and from + count or 0}
for _, seq in ipairs(found) do
  if string.sub(seq, 1, 1) == '=' then
    out[#out + 1] = {'sums', redis.call('HGET', P .. 'sums', string.sub(seq, 2)) or ''}
  else
    local r = redis.call('HGETALL', row(seq))
    for i = 1, #r, 2 do
      if r[i] == 'asked' then
        local name = r[i + 1]
        asks[name] = asks[name] or redis.call('HGET', P .. 'asks', name)
        r[#r + 1] = 'ask'
        r[#r + 1] = asks[name]
        break
      end
    end
    out[#out + 1] = r
  end
end
return out
