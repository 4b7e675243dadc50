function main() {
  var i = 0, s = 0;
  while (i < 10000000) { s = i - s; i++; }
  return s;
}
