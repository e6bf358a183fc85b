-- Returns the agent's spaces and the number of vectors in each.
local out, spaces = {}, collecting()
spaces[#spaces + 1] = call('HGET', life, 'space') or nil
for _, space in ipairs(spaces) do
  local n = call('HLEN', base .. 'vectors:' .. space)
  if n > 0 then
    out[#out + 1] = space
    out[#out + 1] = n
  end
end
return out
