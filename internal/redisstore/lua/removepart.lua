-- Removes keys of an agent as long as its removal goes on. They follow the plan. Answers ok, or ended.
if call('HEXISTS', life, 'removing') == 0 then
  return {'ended'}
end
for i = 4, #ARGV do
  call('UNLINK', ARGV[i])
end
return {'ok'}
