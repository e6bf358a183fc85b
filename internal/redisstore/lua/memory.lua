-- Shared by the scripts of memory. ARGV[1] is the deployment's prefix, ARGV[2] the agent's, ARGV[3] a plan in JSON; values
-- that JSON cannot carry follow from ARGV[4] on.
local prefix, base = ARGV[1], ARGV[2]
local call, sub, find = redis.call, string.sub, string.find
local life, slot, items, revisions = base .. 'life', base .. 'slot', base .. 'items', base .. 'revisions'

-- kept parses a row of the items: "<revision> <84 bytes of places><kind><marks in JSON>\n<body>". See items.go.
local function kept(row)
  local space = find(row, ' ', 1, true)
  local marks = find(row, '{', space + 85, true)
  local line = find(row, '\n', marks, true)
  return {
    row = row, revision = tonumber(sub(row, 1, space - 1)), places = sub(row, space + 1, space + 84),
    kind = sub(row, space + 85, marks - 1), marks = cjson.decode(sub(row, marks, line - 1)), body = sub(row, line + 1),
  }
end

-- number reads a counter of the agent.
local function number(field)
  return tonumber(call('HGET', life, field) or 0)
end

-- batches calls a command with many arguments in several parts, because Lua's stack is bounded.
local function batches(list, width, each)
  for from = 1, #list, width do
    each(unpack(list, from, math.min(from + width - 1, #list)))
  end
end

-- soon collects the arguments of one command on one key, and flush runs them: one call for many items is several times as
-- fast as many calls, and shorter in the append-only file.
local soons, queue = {}, {}
local function soon(command, key, ...)
  local name = command .. ' ' .. key
  local args = soons[name]
  if not args then
    args = {}
    soons[name] = args
    queue[#queue + 1] = {command, key, args}
  end
  for i = 1, select('#', ...) do
    args[#args + 1] = select(i, ...)
  end
end

local function flush()
  for _, q in ipairs(queue) do
    batches(q[3], 1000, function(...) -- an even number, for commands that take pairs
      call(q[1], q[2], ...)
    end)
  end
  soons, queue = {}, {}
end

-- Statuses that queries ask for and that items leave sooner or later: predictions and hypotheses in them are sorted,
-- so that finding those does not read all that were ever made.
local unsettled = {prediction = {open = true}, hypothesis = {staged = true, promoted = true}}

-- members returns an item's places in the orders of its kind and state: a key of fixed width, the beginning of its text, its
-- id. Only episodes have a salience; other kinds are in that order only if an older program has added them (find.lua). Records
-- of dreams are in an order by their status as well.
local function members(id, item)
  local p, pair = item.places, item.kind .. ':' .. item.marks.s
  local late, tail = sub(p, 1, 12), sub(p, 53, 84) .. id
  local list = {
    {'by:newest:' .. pair, late .. tail},
    {'by:oldest:' .. pair, sub(p, 13, 24) .. tail},
    {'by:salient:' .. pair, sub(p, 25, 32) .. late .. tail},
    {'by:score:' .. pair, sub(p, 33, 40) .. late .. tail},
  }
  if item.marks.d then
    list[#list + 1] = {'by:due:' .. pair, sub(p, 41, 52) .. tail}
  end
  if item.kind == 'night' then
    list[#list + 1] = {'by:status:' .. (item.marks.st or '') .. ':' .. item.marks.s, late .. tail}
  elseif unsettled[item.kind] and unsettled[item.kind][item.marks.st] then
    list[#list + 1] = {'by:status:' .. item.marks.st .. ':' .. pair, late .. tail}
  end
  return list
end

local function place(id, item, bare)
  local list = members(id, item)
  for i, m in ipairs(list) do
    if i ~= 3 or item.kind == 'episode' then
      soon('ZADD', base .. m[1], 0, m[2])
    end
  end
  if bare then
    soon('ZADD', base .. 'bare:' .. item.kind .. ':' .. item.marks.s, 0, list[2][2])
  end
  if item.marks.s == 'proposed' then
    soon('SADD', base .. 'by:proposed', id)
  end
end

local function displace(id, item)
  local list = members(id, item)
  for _, m in ipairs(list) do
    soon('ZREM', base .. m[1], m[2])
  end
  soon('ZREM', base .. 'bare:' .. item.kind .. ':' .. item.marks.s, list[2][2])
  if item.marks.s == 'proposed' then
    soon('SREM', base .. 'by:proposed', id)
  end
end

-- ownerof returns in whose conversation an item was said; empty for the agent's own. Older rows have no owner; there it
-- follows from the origin of an episode.
local function ownerof(item)
  if item.marks.o then
    return item.marks.o
  end
  local origin = item.kind == 'episode' and cjson.decode(item.body).origin
  return origin and sub(origin, 1, 5) == 'talk/' and origin or ''
end

-- refers returns the sets of what an item names, without items of its own dream, which are recognised by their ids: a search
-- for the items that name those reads the dream's set (referrers in forget.go).
local function refers(item)
  local list, own = {}, item.marks.dr and item.marks.dr .. '/'
  for _, id in ipairs(item.marks.rf or {}) do
    if not own or sub(id, 1, #own) ~= own then
      list[#list + 1] = 'refers:' .. id
    end
  end
  return list
end

-- groups returns the sets that contain an item: its dream, its session, its owner, its cause, what it refers to. An item that
-- its own dream changed is found by the dream alone. An older program has added items to more sets: with adding set, those are
-- left out.
local function groups(item, adding)
  local m = item.marks
  local list = adding and refers(item) or {}
  if not adding then
    for _, id in ipairs(m.rf or {}) do
      list[#list + 1] = 'refers:' .. id
    end
  end
  if not adding or m.c ~= m.dr then
    list[#list + 1] = 'cause:' .. m.c
  end
  if not adding and m.dr then
    list[#list + 1] = 'cause:' .. m.dr
  end
  local owner = ownerof(item)
  if owner ~= '' then
    list[#list + 1] = 'owner:' .. owner
  end
  if m.dr then
    list[#list + 1] = 'dream:' .. m.dr
  end
  if m.se then
    list[#list + 1] = 'session:' .. m.se
  end
  return list
end

-- pastgroups returns the sets that contain an item because of one of its older revisions.
local function pastgroups(old, new)
  local list = refers(old)
  if old.marks.c ~= new.marks.dr then
    list[#list + 1] = 'cause:' .. old.marks.c
  end
  if old.marks.dr and old.marks.dr ~= new.marks.dr then -- it belongs to another dream now
    list[#list + 1] = 'cause:' .. old.marks.dr
  end
  return list
end

-- replaced enters an item into the order of those that have older revisions, when some were just replaced at that
-- time. A restored item may have older ones, and is read at the next step.
local function replaced(id, past, new, at)
  if #past == 0 then
    return
  end
  if new.marks.s ~= 'live' then
    call('ZREM', base .. 'by:replaced', id)
    return
  end
  for _, old in ipairs(past) do
    if old.marks.s ~= 'live' then
      call('ZADD', base .. 'by:replaced', 0, id)
      return
    end
  end
  call('ZADD', base .. 'by:replaced', 'NX', at, id)
end

-- tally updates the sets of live items by owner, which Owners counts, and the set of owners that have any. old and new are an
-- item before and after a step; nil for none.
local function tally(id, old, new)
  local before = old and old.marks.s == 'live' and ownerof(old) or ''
  local after = new and new.marks.s == 'live' and ownerof(new) or ''
  if before == after then
    return
  end
  if before ~= '' then
    call('SREM', base .. 'live:' .. before, id)
    if call('EXISTS', base .. 'live:' .. before) == 0 then
      call('SREM', base .. 'owners', before)
    end
  end
  if after ~= '' then
    soon('SADD', base .. 'live:' .. after, id)
    soon('SADD', base .. 'owners', after)
  end
end

local function flag(item)
  return (item.marks.s == 'live' and '1' or '0') .. item.kind .. '\n'
end

-- collecting lists the spaces that are being collected beside the agent's own.
local function collecting()
  return call('HKEYS', base .. 'spaces')
end

-- reflag updates the item's state that is stored with its vectors.
local function reflag(id, item)
  local spaces = collecting()
  spaces[#spaces + 1] = call('HGET', life, 'space') or ''
  for _, space in ipairs(spaces) do
    local v = space ~= '' and call('HGET', base .. 'vectors:' .. space, id)
    if v then
      call('HSET', base .. 'vectors:' .. space, id, flag(item) .. sub(v, find(v, '\n', 1, true) + 1))
    end
  end
end

local function dropvector(space, id)
  call('HDEL', base .. 'vectors:' .. space, id)
  call('ZREM', base .. 'tides:' .. space, id)
end

-- closed returns why nothing may be written for the agent, or nil.
local function closed()
  local state = call('HMGET', life, 'removed', 'removing')
  return state[1] and {'removed'} or state[2] and {'removing'} or nil
end

-- fenced returns why a stretch may not write, or nil.
local function fenced(f, late)
  if not f then
    return nil
  end
  local held = call('HMGET', slot, 'dream', 'run')
  local epoch = number('epoch')
  local woken = not late and epoch > f.epoch
  local freed = woken and not held[1] and f.dream ~= ''
  if not held[1] and not freed and f.dream ~= '' then
    return {'slotless', f.dream}
  end
  if (held[1] ~= f.dream or held[2] ~= f.run) and not freed then
    return {'fenced', held[1] or '', held[2] or ''}
  end
  if not freed and f.epoch > epoch then
    return {'ahead', epoch}
  end
  if woken then
    return {'woken', epoch}
  end
  return nil
end

-- forgotten returns why a write based on a reading is refused, or nil.
local function forgotten(read)
  local now = number('scrubs')
  if read and now > read then
    return {'forgotten', now}
  end
  return nil
end

-- digested adds ids to a digest, which has each id once and keeps the newest.
local function digested(before, ids, keep)
  local list, again = {}, {}
  for _, id in ipairs(ids) do
    again[id] = true
  end
  for _, id in ipairs(before and cjson.decode(before) or {}) do
    if not again[id] then
      list[#list + 1] = id
    end
  end
  for i, id in ipairs(ids) do
    local said = false
    for j = i + 1, #ids do
      said = said or ids[j] == id
    end
    if not said then
      list[#list + 1] = id
    end
  end
  while #list > keep do
    table.remove(list, 1)
  end
  return cjson.encode(list)
end

-- done returns the reply of an earlier try with this token.
local function done(token)
  local before = call('GET', prefix .. 'done:' .. token)
  return before and cjson.decode(before)
end

-- finish stores a step's reply for a minute, longer than any caller retries.
local function finish(token, answer)
  call('SET', prefix .. 'done:' .. token, cjson.encode(answer), 'EX', 60)
  return answer
end
