-- ARGV: prefix, dream.
drop_dream(ARGV[2])
return 'ok'
