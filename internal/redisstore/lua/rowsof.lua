-- ARGV: prefix, steps... Returns the fields of each row of these steps.
local out, asks = {}, {}
for i = 2, #ARGV do
  for _, seq in ipairs(redis.call('LRANGE', P .. 'step:' .. ARGV[i], 0, -1)) do out[#out + 1] = fields(seq, asks) end
end
return out
