function main() {
  var v = [], x = 42;
  for (var i = 0; i < 200000; i++) { v.push(x); x = (x * 16807 + 12345) % 2147483647; }
  v.sort(function (a, b) { return a - b; });
  return v[0] + v[100000] + v[199999];
}
