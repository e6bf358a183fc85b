-- Applies changes to the records of rooms, if what they were computed from is unchanged. ARGV: prefix, a plan in JSON, then a
-- name and a body for each record to put, then the names to delete. The plan: the token of this step; the parts that were read,
-- each with its version; the parts that are written; the keys of the counters of the agents concerned; the rooms with new events,
-- and the channel on which to say so; how many records are put. Returns ok, torn, removed or removing.
local plan, prefix, call = cjson.decode(ARGV[2]), ARGV[1], redis.call
local done = prefix .. 'done:' .. plan.token
if call('EXISTS', done) == 1 then
  return {'ok'}
end
for part, version in pairs(plan.read) do
  if (call('HGET', prefix .. 'room_versions', part) or '0') ~= version then
    return {'torn'}
  end
end
for _, life in ipairs(plan.agents) do
  local l = call('HMGET', life, 'removed', 'removing')
  if l[1] then
    return {'removed'}
  end
  if l[2] then
    return {'removing'}
  end
end
local at = 3
for _ = 1, plan.put do
  call('ZADD', prefix .. 'room_names', 0, ARGV[at])
  if ARGV[at + 1] ~= '' then
    call('HSET', prefix .. 'room_records', ARGV[at], ARGV[at + 1])
  end
  at = at + 2
end
for i = at, #ARGV do
  call('ZREM', prefix .. 'room_names', ARGV[i])
  call('HDEL', prefix .. 'room_records', ARGV[i])
end
for _, part in ipairs(plan.written) do
  call('HINCRBY', prefix .. 'room_versions', part, 1)
end
for _, room in ipairs(plan.rooms) do
  call('PUBLISH', plan.channel, room)
end
call('SET', done, 1, 'EX', 60)
return {'ok'}
