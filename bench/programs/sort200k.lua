local v, x = {}, 42
for i = 1, 200000 do
  v[i] = x
  x = (x * 16807 + 12345) % 2147483647
end
table.sort(v)
return v[1] + v[100001] + v[200000]
