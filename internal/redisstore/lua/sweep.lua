-- Deletes keys while an import owns them. ARGV: prefix, its mark, then the keys.
local now = redis.call('GET', ARGV[1] .. 'schema')
if now ~= ARGV[2] then
  return {'lost', now or ''}
end
for i = 3, #ARGV do
  redis.call('UNLINK', ARGV[i])
end
return {'ok'}
