function main() {
  var m = new Map();
  for (var i = 0; i < 200000; i++) m.set(i, i);
  return m.size;
}
