-- Reads records of rooms by a range of names. ARGV: prefix, from, to, 1 for the order from the last one back, how many (-1: all),
-- the part that the names belong to. Returns the version of the part, then names and bodies.
local names
if ARGV[4] == '1' then
  names = redis.call('ZREVRANGEBYLEX', ARGV[1] .. 'room_names', ARGV[3], ARGV[2], 'LIMIT', 0, ARGV[5])
else
  names = redis.call('ZRANGEBYLEX', ARGV[1] .. 'room_names', ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[5])
end
local out = {redis.call('HGET', ARGV[1] .. 'room_versions', ARGV[6]) or '0'}
for from = 1, #names, 1000 do
  local to = math.min(from + 999, #names)
  for i, body in ipairs(redis.call('HMGET', ARGV[1] .. 'room_records', unpack(names, from, to))) do
    out[#out + 1] = names[from + i - 1]
    out[#out + 1] = body or '' -- the records of an index have none
  end
end
return out
