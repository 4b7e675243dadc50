function main() {
  var a = [];
  for (var i = 0; i < 1000000; i++) a.push(i);
  return a.filter(function (x) { return x % 2 === 0; }).map(function (x) { return x + 1; })
    .reduce(function (s, x) { return s + x; }, 0);
}
