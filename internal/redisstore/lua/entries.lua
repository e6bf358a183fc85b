-- The items that changed after a vector revision, oldest change first, with their vectors in the agent's space.
-- ARGV[4]: the vector revision; ARGV[5]: the space and ARGV[6]: the number of forgettings when it was read; ARGV[7]: about
-- how many items, or 0 to learn only whether there are any.
-- Returns: space, dimension, vector revision, forgettings, the revision read up to, whether more follow, whether every item
-- is among the changes, then ids, rows and vectors ('' where there is none).
local now = call('HMGET', life, 'space', 'dim', 'tide', 'scrubs', 'fed')
local space, dim, tide, scrubs = now[1] or '', now[2] or '0', now[3] or '0', now[4] or '0'
local fed = (now[5] == '1' or call('HLEN', items) == 0) and 1 or 0
local read = tonumber(ARGV[4])
if ARGV[5] ~= space or ARGV[6] ~= scrubs then
  read = -1
elseif read >= tonumber(tide) then
  return {space, dim, tide, scrubs, tide, 0, fed}
end
local changes, most = base .. 'changes', tonumber(ARGV[7])
if most == 0 then
  return {space, dim, tide, scrubs, tide, 1, fed}
end
local ids = call('ZRANGEBYSCORE', changes, '(' .. string.format('%.0f', read), '+inf', 'LIMIT', 0, most)
local reached, more = tide, 0
if #ids == most then -- only complete vector revisions, so that the next page begins after one
  reached = call('ZSCORE', changes, ids[#ids])
  while #ids > 0 and call('ZSCORE', changes, ids[#ids]) == reached do
    table.remove(ids)
  end
  for _, id in ipairs(call('ZRANGEBYSCORE', changes, reached, reached)) do
    ids[#ids + 1] = id
  end
  more = 1
end
local out = {space, dim, tide, scrubs, reached, more, fed}
batches(ids, 500, function(...)
  local rows = call('HMGET', items, ...)
  local list = space ~= '' and call('HMGET', base .. 'vectors:' .. space, ...) or {}
  for i = 1, #rows do
    out[#out + 1] = select(i, ...)
    out[#out + 1] = rows[i] or ''
    out[#out + 1] = list[i] or ''
  end
end)
return out
