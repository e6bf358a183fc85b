-- ARGV: prefix, list or empty for all rows, from (0, 1, 2, ...), how many. Returns the next position, or 0 at the end, and rows.
local from, count = tonumber(ARGV[3]), tonumber(ARGV[4])
local found, last = {}, nil
if ARGV[2] == '' then
  last = tonumber(redis.call('GET', P .. 'rows') or '0')
  for seq = from + 1, math.min(from + count, last) do found[#found + 1] = seq end
else
  last = redis.call('LLEN', P .. ARGV[2])
  found = redis.call('LRANGE', P .. ARGV[2], from, from + count - 1)
end
local out = {from + count < last and from + count or 0}
for _, seq in ipairs(found) do
  local r = redis.call('HMGET', row(seq), 'ask', 'attempt', 'reserved', 'counted', 'state', 'tokens', 'finish', 'ended', 'latest',
    'step', 'model', 'at', 'asked')
  r[1] = r[1] or redis.call('HGET', P .. 'asks', r[13])
  for i = 1, 12 do out[#out + 1] = r[i] or '' end
end
return out
