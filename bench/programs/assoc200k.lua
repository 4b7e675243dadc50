local m, n = {}, 0
for i = 0, 199999 do m[i] = i end
for _ in pairs(m) do n = n + 1 end
return n
