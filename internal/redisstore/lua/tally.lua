-- One step of counting the items of an older deployment by owner. ARGV[4]: the cursor. Answers the next one; '0' when
-- all are counted. What is written meanwhile is counted by who writes it.
local page = call('HSCAN', items, ARGV[4], 'COUNT', 500)
for i = 1, #page[2], 2 do
  tally(page[2][i], nil, kept(page[2][i + 1]))
end
flush()
if page[1] == '0' then
  call('HSET', life, 'tallied', 1)
end
return {page[1]}
