-- Reads days of agents at one moment. ARGV: prefix, and an agent and a day for each. Returns a list for each: the kept total
-- ('' for none), then for each row its state, what it counts and its tokens, or 'sums', packed sums and ''.
local out = {}
for i = 2, #ARGV, 2 do
  local of = {redis.call('HGET', P .. 'spent:' .. ARGV[i], ARGV[i + 1]) or ''}
  for _, seq in ipairs(redis.call('LRANGE', P .. 'day:' .. ARGV[i + 1] .. ':' .. ARGV[i], 0, -1)) do
    local n = #of
    if string.sub(seq, 1, 1) == '=' then
      of[n + 1], of[n + 2], of[n + 3] = 'sums', redis.call('HGET', P .. 'sums', string.sub(seq, 2)) or '', ''
    else
      local r = redis.call('HMGET', row(seq), 'state', 'counted', 'tokens')
      of[n + 1], of[n + 2], of[n + 3] = r[1] or '', r[2] or '', r[3] or ''
    end
  end
  out[i / 2] = of
end
return out
