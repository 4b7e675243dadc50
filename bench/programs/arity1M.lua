local function f(a, b, ...)
  if b == nil then return f(a, 1) end
  if select("#", ...) > 0 then return a + b + (...) end
  return a + b
end
local s = 0
for i = 0, 999999 do s = f(i) + f(i, 2) + f(i, 3, 4) - s end
return s
