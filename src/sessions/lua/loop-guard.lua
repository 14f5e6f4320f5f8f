-- Streaks: how often in a row the same call failed or gave the same answer. The twin of rules/loop-guard.ts.
--
-- A tool's field reads "fingerprint:failed:same:answer" for each streak, blanks between them; while a named round
-- stands, then "@step" and for each of its calls "fingerprint:ending:answer". Endings: see RANK.

local MAX_FINGERPRINTS, MAX_FAILED, MAX_SAME = 16, 2, 9
local NOTHING = { failed = 0, same = 0, answer = '' }
-- not run, other, looped, failed, answered: one fingerprint twice in a round counts once, the higher ending.
local RANK = { n = 0, o = 1, l = 2, f = 3, a = 4 }

local function is_nothing(streak)
  return streak.failed == 0 and streak.same == 0 and streak.answer == ''
end

local function add_streak(list, fingerprint, failed, same, answer)
  if #list >= MAX_FINGERPRINTS then return end
  list[#list + 1] = { fingerprint = fingerprint, failed = failed, same = same, answer = answer }
end

local function parse_streaks(saved)
  local head, tail = string.match(saved or '', '^([^@]*)@?(.*)$')
  local streaks = { before = {}, step = digits(string.match(tail, '^%d+')), endings = {} }
  for fingerprint, failed, same, answer in string.gmatch(head, '(%x+):(%d+):(%d+):(%x*)') do
    add_streak(streaks.before, fingerprint, digits(failed), digits(same), answer)
  end
  for fingerprint, ending, answer in string.gmatch(tail, '(%x+):([nolfa]):(%x*)') do
    if #streaks.endings < MAX_FINGERPRINTS then
      streaks.endings[#streaks.endings + 1] = { fingerprint = fingerprint, ending = ending, answer = answer }
    end
  end
  return streaks
end

local function streaks_text(streaks)
  local words = {}
  for _, streak in ipairs(streaks.before) do
    words[#words + 1] = string.format('%s:%d:%d:%s', streak.fingerprint, streak.failed, streak.same, streak.answer)
  end
  if streaks.step == 0 then return table.concat(words, ' ') end
  words[#words + 1] = string.format('@%d', streaks.step)
  for _, ending in ipairs(streaks.endings) do
    words[#words + 1] = string.format('%s:%s:%s', ending.fingerprint, ending.ending, ending.answer)
  end
  return table.concat(words, ' ')
end

local function tool_streaks(session, name)
  return session.streaks[name] or parse_streaks(session.saved['streaks:' .. name])
end

local function find(list, fingerprint)
  for _, item in ipairs(list) do
    if item.fingerprint == fingerprint then return item end
  end
  return nil
end

-- A refused call: the count that refused it grows. Where none would any more it has ended meanwhile.
local function after_ending(streak, item)
  if item.ending == 'f' then return streak.failed + 1, 0, '' end
  if item.ending == 'l' and streak.failed >= MAX_FAILED then return streak.failed + 1, streak.same, streak.answer end
  if item.ending == 'l' and streak.same >= MAX_SAME then return streak.failed, streak.same + 1, streak.answer end
  if item.ending == 'a' then return 0, (streak.answer == item.answer) and streak.same + 1 or 1, item.answer end
  if item.ending == 'n' then return streak.failed, streak.same, streak.answer end
  return 0, 0, ''
end

-- A tool's streaks after its last round.
local function streaks_after(streaks)
  if streaks.step == 0 then return streaks.before end
  local after = {}
  for _, item in ipairs(streaks.endings) do
    local failed, same, answer = after_ending(find(streaks.before, item.fingerprint) or NOTHING, item)
    if not is_nothing({ failed = failed, same = same, answer = answer }) then
      add_streak(after, item.fingerprint, failed, same, answer)
    end
  end
  return after
end

-- A call's streak as the round with this step finds it; 0 = a round without a name.
local function streak_before(streaks, fingerprint, step)
  local list = (streaks.step == step) and streaks.before or streaks_after(streaks)
  return find(list, fingerprint) or NOTHING
end

local function add_ending(endings, item)
  local known = find(endings, item.fingerprint)
  if not known then
    if #endings < MAX_FINGERPRINTS then endings[#endings + 1] = item end
  elseif RANK[item.ending] >= RANK[known.ending] then
    known.ending = item.ending
    known.answer = item.answer
  end
end

-- Ends the tool's failures in a row: those that the round with this step found, and, where another round did it (0 = no
-- round), those of the named round that stands as well.
local function without_failures(streaks, step)
  local before, endings = {}, {}
  for _, streak in ipairs(streaks.before) do
    if streak.same > 0 or streak.answer ~= '' then
      add_streak(before, streak.fingerprint, 0, streak.same, streak.answer)
    end
  end
  if streaks.step == step then return { before = before, step = step, endings = streaks.endings } end
  for position, item in ipairs(streaks.endings) do
    local failed = after_ending(find(streaks.before, item.fingerprint) or NOTHING, item)
    local ended = { fingerprint = item.fingerprint, ending = 'o', answer = '' }
    endings[position] = (failed > 0 and item.ending ~= 'n') and ended or item
  end
  return { before = before, step = streaks.step, endings = endings }
end

local function add_round(streaks, endings, step)
  if step ~= 0 and streaks.step == step then
    for _, item in ipairs(endings) do add_ending(streaks.endings, item) end
    return streaks
  end
  local counted = { before = streaks_after(streaks), step = step, endings = endings }
  if step ~= 0 then return counted end
  counted.step = -1
  return { before = streaks_after(counted), step = 0, endings = {} }
end

-- Counts a round: `endings` by tool; `changers` are the tools by which something has changed, so that what failed with
-- all others may go well now.
local function settle_streaks(session, endings, changers, changer_count, step)
  if changer_count > 0 then
    for _, name in ipairs(names_with(session, 'streaks:')) do
      local saved = session.saved['streaks:' .. name]
      local may_fail = string.find(saved, ':[1-9]%d*:%d+:') or string.find(saved, '@', 1, true)
      if may_fail and (changer_count > 1 or not changers[name]) then
        session.streaks[name] = without_failures(tool_streaks(session, name), step)
      end
    end
  end
  for name, items in pairs(endings) do
    session.streaks[name] = add_round(tool_streaks(session, name), items, step)
  end
end
