// What a program does that uses the nREPL client of npm: node client.js PORT. It prints what it got, a line each.
const nrepl = require("nrepl-client");

const con = nrepl.connect({ port: +process.argv[2], host: "127.0.0.1" });
const call = (f) => new Promise((ok, bad) => f((err, messages) => (err ? bad(err) : ok(messages))));
const join = (messages, key) => messages.map((m) => m[key] ?? "").join("|").replace(/^\|+|\|+$/g, "");

con.once("connect", async () => {
  try {
    await call((f) => con.clone(f));
    const session = con.sessions[0];
    const d = await call((f) => con.describe(undefined, true, f));
    console.log("describe", typeof d[0].ops.eval.doc);
    console.log("eval", join(await call((f) => con.eval("(+ 1 2)", undefined, session, f)), "value"));
    console.log("unicode", join(await call((f) => con.eval('"λ€𝄞"', undefined, session, f)), "value"));
    const out = await call((f) => con.eval('(println "printed") *1', undefined, session, f));
    console.log("out", JSON.stringify(join(out, "out")), join(out, "value"));
    const bad = await call((f) => con.eval("(nope)", undefined, session, f));
    console.log("error", join(bad, "ex"), /unable to resolve nope/.test(join(bad, "err")));
    const file = await call((f) => con.loadFile("(ns kit.npm) (def x 41) (inc x)", "npm.clj", "kit/npm.clj", f));
    console.log("load-file", join(file, "value"));
    const sessions = await call((f) => con.lsSessions(f));
    console.log("ls-sessions", sessions[0].sessions.includes(session));
    const loop = call((f) => con.eval("(loop [] (recur))", undefined, session, "busy", undefined, f));
    setTimeout(() => con.interrupt(session, "busy", () => {}), 100);
    console.log("interrupt", join(await loop, "status"));
    console.log("close", join(await call((f) => con.close(session, f)), "status"));
  } catch (e) {
    console.log("failed", e);
  }
  con.end();
});
