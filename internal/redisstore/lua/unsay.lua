-- Replaces stored responses. KEYS: claims. ARGV: prefix, status, type, body.
for _, claim in ipairs(KEYS) do
  if redis.call('HEXISTS', claim, 'status') == 1 then
    redis.call('HSET', claim, 'status', ARGV[2], 'type', ARGV[3], 'body', ARGV[4], 'header', '')
  end
end
return 'ok'
