-- KEYS: life, slot, leases, affects, unheard. ARGV: prefix, agent, client, cause, now, until, lock, token, the agent as
-- escaped in keys, handle ('' for any), the publishing process ('' for none), the channel.
-- One step: lease and lock, and for a wake also the epoch, the mood, the digest, the stored wake and the notice. Returns
-- raised (0 or 1) and the last wake, or nothing when no such agent has that handle.
local life, slot, leases, affects, unheard = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local agent, client, cause, now, ends, lock, token = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
if ARGV[10] ~= '' and redis.call('HGET', ARGV[1] .. 'handles', ARGV[10]) ~= agent then return {} end
local kept = redis.call('HMGET', life, 'removed', 'removing', 'epoch', 'by', 'lock', 'seen', 'last', 'digest')
if kept[1] or kept[2] then return {} end
local epoch, by, last, digest = tonumber(kept[3] or '0'), kept[4], kept[7], kept[8]
local held = redis.call('HMGET', slot, 'dream', 'epoch', 'mood')
local dreams = held[1] and tonumber(held[2] or '0') >= epoch

-- The leases are read once: they say until when the agent is held awake, which have expired, and since when the client
-- holds its own.
local latest, since, expired = kept[5] or '', now, {}
local granted = redis.call('HGETALL', leases)
for i = 1, #granted, 2 do
  local lease = cjson.decode(granted[i + 1])
  if lease['until'] > latest then latest = lease['until'] end
  if lease['until'] <= now then
    expired[#expired + 1] = granted[i]
  elseif granted[i] == client then
    since = lease.since
    if lease['until'] > ends then ends = lease['until'] end
  end
end
local awake = epoch > 0 and latest > now
for _, name in ipairs(expired) do redis.call('HDEL', leases, name) end
redis.call('HSET', leases, client, cjson.encode({client = client, cause = cause, since = since, ['until'] = ends}))
local fields = {}
if not kept[5] or lock > kept[5] then fields = {'lock', lock} end
if not kept[6] or now > kept[6] then fields[#fields + 1], fields[#fields + 2] = 'seen', now end
if awake and not dreams then
  local wake = cause == 'connect' and last and cjson.decode(last)
  if wake and wake.cause ~= 'connect' and wake.cause ~= 'knock' and not wake.dream then
    fields[#fields + 1], fields[#fields + 2] = 'visited', '1'
  end
  if #fields > 0 then redis.call('HSET', life, unpack(fields)) end
  return {by == token and 1 or 0, last} -- this visit raised it, but its first reply was lost
end

epoch = epoch + 1
local before = redis.call('LINDEX', affects, -1) or ''
local after = ''
if held[1] and cause ~= 'alarm' and held[3] and held[3] ~= '' then after = held[3] end
if after ~= '' then
  local felt = cjson.decode(after).since or now
  redis.call('RPUSH', affects, '{"cause":' .. cjson.encode(held[1]) .. ',"affect":{"pad":' .. after .. ',"since":' .. cjson.encode(felt) ..
    ',"cause":' .. cjson.encode(held[1]) .. '}}')
end
last = '{"agent":' .. cjson.encode(agent) .. ',"epoch":' .. string.format('%.0f', epoch) .. ',"cause":' .. cjson.encode(cause) ..
  ',"client":' .. cjson.encode(client) .. ',"at":' .. cjson.encode(now)
if held[1] then last = last .. ',"dream":' .. cjson.encode(held[1]) end
if before ~= '' then last = last .. ',"before":' .. before end
if after ~= '' then last = last .. ',"after":' .. after end
if digest and digest ~= '' then last = last .. ',"digest":' .. digest end
last = last .. '}'
redis.call('HSET', life, 'epoch', string.format('%.0f', epoch), 'last', last, 'by', token, unpack(fields))
redis.call('HDEL', life, 'digest', 'visited')
if held[3] then redis.call('HDEL', slot, 'mood') end
redis.call('SADD', unheard, ARGV[9])
if ARGV[11] ~= '' then
  redis.call('PUBLISH', ARGV[12], '{"from":' .. cjson.encode(ARGV[11]) .. ',"agent":' .. cjson.encode(agent) .. ',"epoch":' ..
    string.format('%.0f', epoch) .. ',"cause":' .. cjson.encode(cause) .. ',"at":' .. cjson.encode(now) .. '}')
end
return {1, last}
