local sub, find = string.sub, string.find

-- status returns the status in the marks of a row, which memory.lua says the form of.
local function status(row)
  local marks = find(row, '{', find(row, ' ', 1, true) + 85, true)
  local text = sub(row, marks, find(row, '\n', marks, true) - 1)
  -- nothing that comes before it in the marks can contain this, because quotes in texts are escaped
  return string.match(text, '"st":"([%w_-]*)"') or ''
end

