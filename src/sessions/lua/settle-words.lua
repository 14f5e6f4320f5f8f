-- What settle.lua is told, as it was sent: the words as one JSON array, and the lines of the journal beside it.

local WORDS, LINES, PACKED = cjson.decode(ARGV[1]), {}, ''
for i = 2, #ARGV do LINES[i - 1] = ARGV[i] end
