-- Removes a feed, and replaces its followers' records by ones without it. ARGV: prefix, name, then the id, the old and the
-- new record of each follower.
local name, put = ARGV[2], {}
for i = 3, #ARGV, 3 do
  put[ARGV[i]] = {ARGV[i + 1], ARGV[i + 2]}
end
if redis.call('HEXISTS', ARGV[1] .. 'feeds', name) == 0 then
  return 'missing'
end
local all = redis.call('HGETALL', ARGV[1] .. 'agents')
for i = 1, #all, 2 do
  if cjson.decode(all[i + 1]).feed == name and not (put[all[i]] and put[all[i]][1] == all[i + 1]) then
    return 'torn'
  end
end
for id, records in pairs(put) do
  if redis.call('HGET', ARGV[1] .. 'agents', id) ~= records[1] then
    return 'torn'
  end
end
for id, records in pairs(put) do
  redis.call('HSET', ARGV[1] .. 'agents', id, records[2])
end
redis.call('HDEL', ARGV[1] .. 'feeds', name)
return 'ok'
