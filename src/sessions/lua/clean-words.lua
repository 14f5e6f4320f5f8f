-- What settle.lua is told of a round that clean-settle.lua, which goes before, has found not to be clean.

if settle_clean(KEYS, ARGV) then return 1 end

local function to_words()
  local ttl_ms, session_retries, cap = string.match(ARGV[2], '^(%d+) (%d+) (%d+)$')
  local tools = cjson.decode(ARGV[3])
  local words = {
    ARGV[1], ttl_ms, session_retries, cap, '0', '0', tostring(#tools), tostring(#ARGV[4] / ENDING_DIGITS),
    ARGV[5] == '-' and '1' or '',
  }
  for _, tool in ipairs(tools) do
    local of_tool = { tool[1], tostring(tool[2]), 'free', '', '0', 'succeeded', '', '0', tool[3] == 1 and '1' or '' }
    for _, word in ipairs(of_tool) do words[#words + 1] = word end
  end
  for i = 1, #ARGV[4], ENDING_DIGITS do
    words[#words + 1] = tostring(tonumber(string.sub(ARGV[4], i, i + 3), 16))
    words[#words + 1] = string.sub(ARGV[4], i + 4, i + 17)
    words[#words + 1] = 'a'
    words[#words + 1] = string.sub(ARGV[4], i + 18, i + 31)
  end
  return words
end

local WORDS, LINES, PACKED = to_words(), {}, ARGV[5] == '-' and '' or ARGV[5]
