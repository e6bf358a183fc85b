-- Leases and the wake lock. Times are text of fixed width in UTC, compared as text.

-- until_of returns the time from which the agent may dream: the end of the lock or of the latest lease; '' for none.
local function until_of(life, leases)
  local latest = redis.call('HGET', life, 'lock') or ''
  local kept = redis.call('HVALS', leases)
  for _, text in ipairs(kept) do
    local lease = cjson.decode(text)
    if lease['until'] > latest then latest = lease['until'] end
  end
  return latest
end

-- later sets a time field of the life hash unless its value is later.
local function later(life, field, time)
  local kept = redis.call('HGET', life, field)
  if not kept or time > kept then redis.call('HSET', life, field, time) end
end

-- standing returns epoch, recorded epoch, lock, seen, last wake, visited and the leases.
local function standing(life, leases)
  local l = redis.call('HMGET', life, 'epoch', 'told', 'lock', 'seen', 'last', 'visited')
  local out = {}
  for i = 1, 6 do out[i] = l[i] or '' end
  for _, text in ipairs(redis.call('HVALS', leases)) do out[#out + 1] = text end
  return out
end
