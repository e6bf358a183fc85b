-- Every revision of some items that is kept, oldest first: the plan lists ids. Answers a list of rows for each, empty for what is unknown.
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
        all[#all + 1] = old or nil -- a later one took the place of those that are gone
      end
    end)
    all[#all + 1] = row
  end
  out[#out + 1] = all
end
return out
