-- A part of an import. ARGV: prefix, the mark that the part needs, the mark that it leaves, then commands: the number of
-- words and the words. It runs once, and only for the import that owns the keys. Returns ok, or lost and the current mark.
local mark = ARGV[1] .. 'schema'
local now = redis.call('GET', mark)
if now == ARGV[3] then
  return {'ok'} -- by an earlier try whose reply was lost
end
if now ~= ARGV[2] then
  return {'lost', now or ''}
end
local at = 4
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
redis.call('SET', mark, ARGV[3])
return {'ok'}
