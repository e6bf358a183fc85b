-- Returns the statuses of rows. ARGV: prefix, and for each row the key of its agent's items and its id.
local out = {}
for i = 2, #ARGV, 2 do
  local row = redis.call('HGET', ARGV[i], ARGV[i + 1])
  out[i / 2] = row and status(row) or ''
end
return out
