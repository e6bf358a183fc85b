-- Deletes keys of an agent while its removal is in progress. They follow the plan. Returns ok, or ended.
if call('HEXISTS', life, 'removing') == 0 then
  return {'ended'}
end
for i = 4, #ARGV do
  call('UNLINK', ARGV[i])
end
return {'ok'}
