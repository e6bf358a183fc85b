-- Returns what an export cannot read later as it is at this moment: how many rows and changes the ledger has, its open rows, and
-- the accounts that may have changed since an earlier moment. ARGV: prefix, the rows and changes of the earlier moment, how many
-- of either may have come since, then the scopes of rows that were open then. Returns 1, or 0 when more have come, and no
-- account; the numbers of rows, changes and folded rows; for each open row its number, whether its step has an answer, and its
-- fields; for each account its scope and what is reserved and spent.
local function number(name) return tonumber(redis.call('GET', P .. name) or '0') end
local from, since, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rows, changes = number('rows'), number('changes')
local open, asks = {}, {}
for _, dream in ipairs(redis.call('SMEMBERS', P .. 'open')) do
  for _, seq in ipairs(redis.call('SMEMBERS', P .. 'opens:' .. dream)) do
    local step = redis.call('HGET', row(seq), 'step') or ''
    open[#open + 1] = {seq, redis.call('EXISTS', P .. 'answer:' .. step), fields(seq, asks)}
  end
end
if rows - from > most or changes - since > most then return {0, rows, changes, number('folded'), open, {}} end

local sums, read = {}, {}
local function read_account(scope)
  if read[scope] then return end
  read[scope] = true
  local now = redis.call('HMGET', P .. 'account:' .. scope, 'reserved', 'spent')
  if not now[1] and not now[2] then return end
  local n = #sums
  sums[n + 1], sums[n + 2], sums[n + 3] = scope, now[1] or '0', now[2] or '0'
end

-- read_accounts reads those that a row counts in. A row may have been folded since the earlier moment.
local function read_accounts(seq)
  local now = redis.call('HMGET', row(seq), 'ask', 'asked')
  local ask = now[1] or now[2] and redis.call('HGET', P .. 'asks', now[2])
  for n = since + 1, changes do
    if ask then break end
    local was = redis.call('HGET', P .. 'change:' .. n, 'row:' .. seq)
    ask = was and cjson.decode(was).ask
  end
  if not ask or read[ask] then return end
  read[ask] = true
  for _, account in ipairs(cjson.decode(ask).accounts or {}) do read_account(account.scope) end
end

for i = 5, #ARGV do read_account(ARGV[i]) end
for seq = from + 1, rows do read_accounts(string.format('%.0f', seq)) end
for n = since + 1, changes do
  local late = redis.call('HGET', P .. 'change:' .. n, 'late')
  if late then read_accounts(late) end
end
return {1, rows, changes, number('folded'), open, sums}
