-- Keeps the answer to a claimed request, or gives it up when there is no status. KEYS: its claim. ARGV: prefix, digest, when it
-- was claimed, when the answer ends, how long the server keeps it at most in milliseconds, status, type, body, header.
local c = redis.call('HMGET', KEYS[1], 'digest', 'at', 'status')
if c[3] or (c[1] and c[1] ~= ARGV[2]) then
  return 'late'
end
if ARGV[6] == '' then
  if c[2] == ARGV[3] then
    redis.call('DEL', KEYS[1])
  end
  return 'ok'
end
redis.call('HSET', KEYS[1], 'digest', ARGV[2], 'at', c[2] or ARGV[3], 'ends', ARGV[4], 'status', ARGV[6], 'type', ARGV[7], 'body', ARGV[8], 'header', ARGV[9])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'ok'
