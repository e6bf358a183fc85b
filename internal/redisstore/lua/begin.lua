-- Begins an import. ARGV: prefix, the mark of the import, the mark of complete keys, and 1 when the keys of an unfinished
-- import may be taken over. Returns fresh when there were no root keys, litter when it has taken over an unfinished import,
-- occupied and a key, or marked and the current mark.
local mark = ARGV[1] .. 'schema'
local now = redis.call('GET', mark)
if now == ARGV[2] then
  return {'fresh'} -- by an earlier try whose reply was lost; remains of an unfinished import are removed before this one begins
end
if now == ARGV[3] then
  for _, root in ipairs({'agents', 'handles', 'feeds', 'keys', 'slots', 'unheard', 'room_names', 'm:rows'}) do
    if redis.call('EXISTS', ARGV[1] .. root) == 1 then
      return {'occupied', ARGV[1] .. root}
    end
  end
  redis.call('SET', mark, ARGV[2])
  return {'fresh'}
end
if ARGV[4] == '1' and now and string.sub(now, 1, 9) == 'importing' then
  redis.call('SET', mark, ARGV[2])
  return {'litter'}
end
return {'marked', now or ''}
