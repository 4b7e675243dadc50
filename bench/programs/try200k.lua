local s = 0
for i = 0, 199999 do
  local ok, e = pcall(function() error({ message = "no", i = i }) end)
  s = s + e.i
end
return s
