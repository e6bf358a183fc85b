-- One step of adding the items of an older deployment to the changes and the owners. ARGV[4]: the cursor. Returns the next
-- cursor; '0' when all are done. A change that was written meanwhile keeps its vector revision.
local page = call('HSCAN', items, ARGV[4], 'COUNT', 500)
local fields = page[2]
for i = 1, #fields, 2 do
  local id = fields[i]
  if call('ZADD', base .. 'changes', 'NX', 0, id) == 1 then
    local owner = ownerof(kept(fields[i + 1]))
    if owner ~= '' then
      soon('SADD', base .. 'owner:' .. owner, id)
    end
  end
end
flush()
if page[1] == '0' then
  call('HSET', life, 'fed', 1)
end
return {page[1]}
