local v, s = {}, 0
for i = 0, 999999 do v[#v + 1] = i end
for i = 1, 1000000 do s = v[i] - s end
return s
