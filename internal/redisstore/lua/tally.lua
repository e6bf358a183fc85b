-- One step of counting the items of an older deployment by owner. ARGV[4]: the cursor. Returns the next cursor; '0' when all
-- are counted. Items that are written meanwhile are counted by their writers.
local page = call('HSCAN', items, ARGV[4], 'COUNT', 500)
for i = 1, #page[2], 2 do
  tally(page[2][i], nil, kept(page[2][i + 1]))
end
flush()
if page[1] == '0' then
  call('HSET', life, 'tallied', 1)
end
return {page[1]}
