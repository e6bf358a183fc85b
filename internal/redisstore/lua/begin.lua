-- Begins an import. ARGV: prefix, the mark of it, the mark of keys that are whole, and 1 when keys may be taken that another
-- import has begun to fill. Answers fresh when the keys were empty as far as their roots tell, litter when it has taken such keys,
-- occupied and a key, or marked and the mark that stands.
local mark = ARGV[1] .. 'schema'
local now = redis.call('GET', mark)
if now == ARGV[2] then
  return {'fresh'} -- by an earlier try, whose answer was lost: what an import left is removed before this one begins
end
if now == ARGV[3] then
  for _, root in ipairs({'agents', 'handles', 'feeds', 'keys', 'slots', 'unheard', 'm:rows'}) do
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
