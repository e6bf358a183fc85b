-- Replaces rows by sums. ARGV: prefix, a plan in JSON, then for each group its packed sums before ('' for none) and after.
-- Everything is checked first: a row or a group that is not as it was read makes the step torn.
local plan = cjson.decode(ARGV[2])
for i, group in ipairs(plan.groups) do
  if (redis.call('HGET', P .. 'sums', group.name) or '') ~= ARGV[1 + 2 * i] then return 'torn' end
end
local seqs, asked = {}, {}
for i, r in ipairs(plan.rows) do
  local list = P .. 'step:' .. r.step
  local seq = redis.call('LINDEX', list, r.attempt - 1)
  if not seq or redis.call('LLEN', list) ~= r.of then return 'torn' end
  local now = redis.call('HMGET', row(seq), 'state', 'counted', 'asked')
  if now[1] ~= r.state or now[2] ~= r.counted then return 'torn' end
  seqs[i], asked[i] = seq, now[3]
end
local change, asks = begin_change(), {}
for _, seq in ipairs(seqs) do keep_row(change, seq, asks) end
for i, group in ipairs(plan.groups) do redis.call('HSET', change, 'sum:' .. group.name, ARGV[1 + 2 * i]) end
end_change(change)
for i, group in ipairs(plan.groups) do
  if ARGV[1 + 2 * i] == '' then
    redis.call('LPUSH', P .. 'day:' .. group.day .. ':' .. group.agent, '=' .. group.name)
    if group.dream ~= '' then redis.call('LPUSH', P .. 'dream:' .. group.dream, '=' .. group.name) end
  end
  redis.call('HSET', P .. 'sums', group.name, ARGV[2 + 2 * i])
end
local names = {}
for i, r in ipairs(plan.rows) do
  redis.call('DEL', row(seqs[i]), P .. 'step:' .. r.step, P .. 'answer:' .. r.step)
  redis.call('LREM', P .. 'day:' .. r.day .. ':' .. r.agent, 1, seqs[i])
  if r.dream == '' then
    redis.call('LREM', P .. 'awake:' .. r.agent, 1, seqs[i])
  else
    redis.call('LREM', P .. 'dream:' .. r.dream, 1, seqs[i])
    if asked[i] then
      names[r.dream] = names[r.dream] or {}
      names[r.dream][asked[i]] = true
    end
  end
end
for dream, unused in pairs(names) do -- what rows of a dream share goes with the last of them
  for _, seq in ipairs(redis.call('LRANGE', P .. 'dream:' .. dream, 0, -1)) do
    local used = string.sub(seq, 1, 1) ~= '=' and redis.call('HGET', row(seq), 'asked')
    if used then unused[used] = nil end
  end
  for name in pairs(unused) do redis.call('HDEL', P .. 'asks', name) end
end
local newest = 0
for _, seq in ipairs(seqs) do
  newest = math.max(newest, tonumber(seq))
  redis.call('ZREM', P .. 'unfolded', seq)
end
local folded, last = tonumber(redis.call('GET', P .. 'folded') or '0'), tonumber(redis.call('GET', P .. 'rows') or '0')
local upto = folded
while upto < last and upto - folded < 5000 do
  local stays = redis.call('EXISTS', row(upto + 1)) == 1
  if stays and upto >= newest then break end
  upto = upto + 1
  if stays then redis.call('ZADD', P .. 'unfolded', upto, upto) end
end
if upto > folded then redis.call('SET', P .. 'folded', upto) end
return 'ok'
