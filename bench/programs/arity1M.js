function f(a, b = 1, ...more) {
  if (more.length > 0) return a + b + more[0];
  return a + b;
}
function main() {
  var s = 0;
  for (var i = 0; i < 1000000; i++) s = f(i) + f(i, 2) + f(i, 3, 4) - s;
  return s;
}
