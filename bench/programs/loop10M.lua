local i, s = 0, 0
while i < 10000000 do
  s = i - s
  i = i + 1
end
return s
