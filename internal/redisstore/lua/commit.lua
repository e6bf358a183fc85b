-- One memory.Write. Everything is checked before anything is written, because a script cannot roll back.
local plan, at = cjson.decode(ARGV[3]), 3
local function blob()
  at = at + 1
  return ARGV[at]
end

local before = done(plan.token)
if before then
  return before
end
local refused = closed() or fenced(plan.fence, plan.late) or forgotten(plan.read)
if refused then
  return refused
end
if plan.pulse and (plan.pulse ~= number('pulse') or plan.affects ~= call('LLEN', base .. 'affects')) then
  return {'torn'}
end

local own = call('HMGET', life, 'space', 'dim')
local space, dim = own[1] or '', tonumber(own[2] or 0)
local founded = false
local staged, order = {}, {}
local added, known, changed = 0, 0, 0

local function look(id)
  local s = staged[id]
  if not s then
    local row = call('HGET', items, id)
    s = {old = row and kept(row), past = {}}
    s.new = s.old
    staged[id] = s
    order[#order + 1] = id
  end
  return s
end

for _, id in ipairs(plan.add or {}) do
  local s, row = look(id), blob()
  if s.new then
    known = known + 1
  else
    s.new = kept('1 ' .. row)
    added = added + 1
  end
end

-- same reports whether two rows have the same JSON. Packed bodies are compared by their hashes, because equal bytes packed
-- relative to other marks are different JSON.
local function same(one, other)
  if not one.marks.b and not other.marks.b then
    return one.body == other.body
  end
  local function hash(item)
    return item.marks.b or sub(redis.sha1hex(item.body), 1, 24)
  end
  return hash(one) == hash(other)
end

-- replaces reports whether a change overwrites the revision before it: memory.Write.Replaces.
local function replaces(old, new)
  local dream = plan.fence and plan.fence.dream
  return dream and old.marks.c == dream and new.marks.c == dream and old.marks.s == new.marks.s
end

-- unrefer removes an item from the sets of ids that only its deleted revisions named.
local function unrefer(id, dropped, new)
  local lost = {}
  for _, old in ipairs(dropped) do
    for _, other in ipairs(old.marks.rf or {}) do
      lost[other] = true
    end
  end
  for _, other in ipairs(new.marks.rf or {}) do
    lost[other] = nil
  end
  if not next(lost) then
    return
  end
  for number = 1, new.revision - 1 do
    local row = call('HGET', revisions, id .. '\0' .. number)
    for _, other in ipairs(row and kept(row).marks.rf or {}) do
      lost[other] = nil
    end
  end
  for other in pairs(lost) do
    call('SREM', base .. 'refers:' .. other, id)
  end
end

local written = {}
for _, c in ipairs(plan.change or {}) do
  local s, row = look(c.id), blob()
  if not s.new then
    return {'missing', c.id}
  end
  local newest = s.new.revision
  local new = kept((newest + 1) .. ' ' .. row)
  if new.kind ~= s.new.kind then
    return {'kind', c.id, s.new.kind, new.kind}
  end
  if not written[c.id] and c.read ~= 0 and c.read ~= newest then
    return {'stale', c.id, c.read, newest}
  end
  written[c.id] = true
  if not same(s.new, new) or c.same then
    if replaces(s.new, new) then
      s.dropped = s.dropped or {}
      s.dropped[#s.dropped + 1] = s.new
    else
      s.past[#s.past + 1] = s.new
    end
    s.retold = s.retold or new.marks.x ~= s.new.marks.x
    s.new = new
    changed = changed + 1
  end
end

local function moved(old, new)
  return old.places ~= new.places or old.marks.s ~= new.marks.s or (old.marks.d == nil) ~= (new.marks.d == nil)
    or (new.kind == 'night' or unsettled[new.kind]) and old.marks.st ~= new.marks.st
end

local vectors, placed = {}, {}
for _, v in ipairs(plan.vectors or {}) do
  local numbers = blob()
  if space == '' then
    space, dim, founded = v.space, v.dim, true
    local collected = tonumber(call('HGET', base .. 'spaces', space) or dim)
    if collected ~= dim then
      return {'length', v.item, space, collected, dim}
    end
  end
  if v.space ~= space then
    return {'space', v.item, space}
  end
  if v.dim ~= dim then
    return {'length', v.item, space, dim, v.dim}
  end
  if not look(v.item).new then
    return {'homeless', v.item}
  end
  if not vectors[v.item] then
    placed[#placed + 1] = v.item
  end
  vectors[v.item] = numbers
end

-- From here on nothing is refused, except by a server without memory: it refuses the first command that may need some, and
-- none after it. Therefore that command comes before any that deletes.
if added > 0 or changed > 0 or #placed > 0 or plan.affect then
  if call('HINCRBY', life, 'pulse', 1) == 1 then
    call('HSET', life, 'fed', 1, 'tallied', 1)
    if call('EXISTS', prefix .. 'raised') == 0 then
      call('HSET', life, 'unsettled', 1)
    end
  end
end
local tide = number('tide') + 1
if founded then
  call('HDEL', base .. 'spaces', space)
  for _, id in ipairs(call('ZRANGE', base .. 'tides:' .. space, 0, -1)) do
    local s = look(id)
    if s.old then
      soon('ZREM', base .. 'bare:' .. s.old.kind .. ':' .. s.old.marks.s, members(id, s.old)[2][2])
    end
  end
end
for _, id in ipairs(order) do
  local s = staged[id]
  if s.old and s.new ~= s.old and moved(s.old, s.new) then
    displace(id, s.old)
  end
end
flush() -- deletions first, then additions
local home = space ~= '' and base .. 'tides:' .. space
for _, id in ipairs(order) do
  local s = staged[id]
  local old, new = s.old, s.new
  if new ~= old then
    for _, p in ipairs(s.past) do
      soon('HSET', revisions, id .. '\0' .. p.revision, p.row)
    end
    replaced(id, s.past, new, plan.at)
    soon('HSET', items, id, new.row)
    tally(id, old, new)
    soon('ZADD', base .. 'changes', tide, id)
    if not old then
      place(id, new, not vectors[id])
    elseif moved(old, new) then
      place(id, new, not (home and call('ZSCORE', home, id)))
    end
    if old then
      for _, field in ipairs({'dr', 'se'}) do
        local name = {dr = 'dream:', se = 'session:'}
        if old.marks[field] and old.marks[field] ~= new.marks[field] then
          call('SREM', base .. name[field] .. old.marks[field], id)
        end
      end
      local owner = ownerof(old)
      if owner ~= '' and owner ~= ownerof(new) then
        call('SREM', base .. 'owner:' .. owner, id)
      end
    end
    if old and new.marks.dr and old.marks.dr ~= new.marks.dr then
      call('SREM', base .. 'cause:' .. new.marks.dr, id)
    end
    for _, p in ipairs(s.past) do
      for _, group in ipairs(pastgroups(p, new)) do
        soon('SADD', base .. group, id)
      end
    end
    for _, group in ipairs(groups(new, true)) do
      soon('SADD', base .. group, id)
    end
    if old and old.marks.s ~= new.marks.s then
      reflag(id, new)
    end
    if s.retold then
      for _, other in ipairs(collecting()) do
        dropvector(other, id)
      end
    end
  end
end
flush()
for _, id in ipairs(order) do
  if staged[id].dropped then
    unrefer(id, staged[id].dropped, staged[id].new)
  end
end
for _, id in ipairs(placed) do
  local s = staged[id]
  soon('HSET', base .. 'vectors:' .. space, id, flag(s.new) .. vectors[id])
  soon('ZADD', home, tide, id)
  soon('ZADD', base .. 'changes', tide, id)
  if s.old then
    soon('ZREM', base .. 'bare:' .. s.new.kind .. ':' .. s.new.marks.s, members(id, s.new)[2][2])
  end
end
flush()
if added > 0 or changed > 0 or #placed > 0 then
  call('HSET', life, 'tide', tide)
end
if #placed > 0 then
  call('HSET', life, 'space', space, 'dim', dim)
end
if plan.affect then
  call('RPUSH', base .. 'affects', blob())
end
if #placed > 0 and not plan.fence then
  drop_awake(plan.agent, true)
end

local seq = number('seq')
local heard = seq
for _, id in ipairs(plan.events or {}) do
  local envelope, data = blob(), blob()
  if call('SADD', base .. 'announced', id) == 1 then
    seq = seq + 1
    call('XADD', base .. 'events', string.format('%.0f-0', seq), 'e', envelope, 'd', data)
  end
end
if seq > heard then
  call('HSET', life, 'seq', seq)
  call('PUBLISH', plan.channel, plan.agent)
end
if plan.mood then
  call('HSET', slot, 'mood', blob())
elseif plan.waking and plan.fence then -- a wake would leave the waking mood
  call('HDEL', slot, 'mood')
end
if plan.digest then
  call('HSET', life, 'digest', digested(call('HGET', life, 'digest'), plan.digest, plan.keep))
end
return finish(plan.token, {'ok', added, known, changed, seq})
