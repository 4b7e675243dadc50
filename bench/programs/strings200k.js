function main() {
  var a = [];
  for (var i = 0; i < 200000; i++) a.push(String(i));
  var s = a.join(",");
  return s.length + s.split(/,/).length;
}
