-- Counters are integers. tonumber would let nan, 0x10 and -5 through: anything but 1 to 15 digits reads as 0.
local function digits(text)
  if type(text) == 'string' and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
  return 0
end
