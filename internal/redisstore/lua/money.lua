-- Amounts are decimal text of an int64 that is not negative. Lua's numbers are doubles, exact up to 2^53 only, so an amount
-- is two numbers here: billions, and the rest.
local BASE = 1000000000
local MOST = {9223372036, 854775807} -- the largest int64

local function money(text)
  if not text then return {0, 0} end
  local n = #text
  if n <= 9 then return {0, tonumber(text)} end
  return {tonumber(string.sub(text, 1, n - 9)), tonumber(string.sub(text, n - 8))}
end

local function spell(a)
  if a[1] == 0 then return string.format('%.0f', a[2]) end
  return string.format('%.0f%09.0f', a[1], a[2])
end

local function above(a, b)
  if a[1] ~= b[1] then return a[1] > b[1] end
  return a[2] > b[2]
end

local function add(a, b)
  local high, low = a[1] + b[1], a[2] + b[2]
  if low >= BASE then high, low = high + 1, low - BASE end
  return {high, low}
end

-- plus is an addition that stops at the largest value.
local function plus(a, b)
  local sum = add(a, b)
  if above(sum, MOST) then return MOST end
  return sum
end

-- Subtraction stops at zero, which only a sum that was cut at the largest value could reach.
local function minus(a, b)
  if above(b, a) then return {0, 0} end
  local high, low = a[1] - b[1], a[2] - b[2]
  if low < 0 then high, low = high - 1, low + BASE end
  return {high, low}
end
