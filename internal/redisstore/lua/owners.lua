-- Counts the agent's live items by owner. Returns 1, then owners and counts; or 0 when an older program wrote items that are
-- not counted yet.
if call('HGET', life, 'tallied') ~= '1' and call('HLEN', items) > 0 then
  return {0}
end
local out = {1}
for _, owner in ipairs(call('SMEMBERS', base .. 'owners')) do
  local n = call('SCARD', base .. 'live:' .. owner)
  if n > 0 then
    out[#out + 1] = owner
    out[#out + 1] = n
  end
end
return out
