-- One step through an agent's live items that were said in a talk. ARGV[4]: the cursor.
-- Answers the next one, '0' when all were seen, then ids and owners. An item may come twice.
local page = call('HSCAN', items, ARGV[4], 'COUNT', 500)
local fields, out = page[2], {page[1]}
for i = 1, #fields, 2 do
  local item = kept(fields[i + 1])
  local owner = item.marks.s == 'live' and ownerof(item) or ''
  if owner ~= '' then
    out[#out + 1] = fields[i]
    out[#out + 1] = owner
  end
end
return out
