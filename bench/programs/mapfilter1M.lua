local function filter(f, xs)
  local out = {}
  for i = 1, #xs do
    if f(xs[i]) then out[#out + 1] = xs[i] end
  end
  return out
end
local function map(f, xs)
  local out = {}
  for i = 1, #xs do out[i] = f(xs[i]) end
  return out
end
local a = {}
for i = 0, 999999 do a[i + 1] = i end
local s = 0
for _, x in ipairs(map(function(x) return x + 1 end, filter(function(x) return x % 2 == 0 end, a))) do s = s + x end
return s
