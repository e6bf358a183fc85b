-- Every kept revision of some items, oldest first: the plan lists ids. Returns a list of rows for each, empty if unknown.
local out = {}
for _, id in ipairs(cjson.decode(ARGV[3])) do
  local all, row = {}, call('HGET', items, id)
  if row then
    local names = {}
    for number = 1, kept(row).revision - 1 do
      names[number] = id .. '\0' .. number
    end
    batches(names, 500, function(...)
      for _, old in ipairs(call('HMGET', revisions, ...)) do
        all[#all + 1] = old or nil -- later revisions have replaced the missing ones
      end
    end)
    all[#all + 1] = row
  end
  out[#out + 1] = all
end
return out
