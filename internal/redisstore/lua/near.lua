-- The vectors of the agent's space that were put or flagged after a tide, oldest change first, and as of when.
-- ARGV[4]: the tide; ARGV[5]: the space and ARGV[6]: the scrubs it was read in; ARGV[7]: about how many, or 0
-- to learn only whether there are any.
-- Answers: space, dim, tide, scrubs, vectors in all, the tide read up to, whether more follow, then ids and vectors.
local now = call('HMGET', life, 'space', 'dim', 'tide', 'scrubs')
local space, dim, tide, scrubs = now[1] or '', now[2] or '0', now[3] or '0', now[4] or '0'
local read = tonumber(ARGV[4])
if space == '' then
  return {space, dim, tide, scrubs, 0, tide, 0}
end
if ARGV[5] ~= space or ARGV[6] ~= scrubs then
  read = -1
elseif read >= tonumber(tide) then
  return {space, dim, tide, scrubs, 0, tide, 0}
end
local tides, vectors, most = base .. 'tides:' .. space, base .. 'vectors:' .. space, tonumber(ARGV[7])
if most == 0 then
  return {space, dim, tide, scrubs, 0, tide, 1}
end
local ids = call('ZRANGEBYSCORE', tides, '(' .. string.format('%.0f', read), '+inf', 'LIMIT', 0, most)
local reached, more = tide, 0
if #ids == most then -- a whole number of tides, so that the next page begins after one
  reached = call('ZSCORE', tides, ids[#ids])
  while #ids > 0 and call('ZSCORE', tides, ids[#ids]) == reached do
    table.remove(ids)
  end
  for _, id in ipairs(call('ZRANGEBYSCORE', tides, reached, reached)) do
    ids[#ids + 1] = id
  end
  more = 1
end
local out = {space, dim, tide, scrubs, call('ZCARD', tides), reached, more}
batches(ids, 500, function(...)
  local list = call('HMGET', vectors, ...)
  for i = 1, #list do
    out[#out + 1] = select(i, ...)
    out[#out + 1] = list[i]
  end
end)
return out
