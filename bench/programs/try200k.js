function main() {
  var s = 0;
  for (var i = 0; i < 200000; i++) {
    try { var e = new Error("no"); e.i = i; throw e; } catch (e) { s += e.i; }
  }
  return s;
}
