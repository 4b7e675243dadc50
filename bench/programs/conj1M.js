function main() {
  var v = [], s = 0;
  for (var i = 0; i < 1000000; i++) v.push(i);
  for (var j = 0; j < 1000000; j++) s = v[j] - s;
  return s;
}
