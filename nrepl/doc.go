// Package nrepl serves a Lisp environment to editors and to other tools, over the nREPL protocol.
//
//	s, err := nrepl.New(nrepl.Config{Env: env, PortFile: ".nrepl-port"})
//	err = s.Start(ctx)
//	fmt.Println(s.Banner())
//	defer s.Stop(ctx)
//
// A connection sends requests, each with an op, and gets replies that carry the request's id, the last with done among
// its status. Ops that run code of the user (eval, load-file, macroexpand, tests) wait in the queue of their session, in
// the order in which they came; all others are answered at once by the goroutine that reads the connection, so that an
// editor has its completion and its interrupt while an evaluation runs.
//
// A session (session.go) is a namespace, *1 *2 *3 *e and what is typed; it outlives the connection that made it, and is
// closed when it has been idle for long. A request without a session belongs to the connection's own, which starts anew with
// each evaluation and ends with the connection.
//
// The invariant: every request is answered, with done, whatever its keys hold; and nothing that a peer sends or does not
// read takes more memory than Config says or holds up anybody else. Whoever connects has the full power of the
// environment, so the server listens on loopback unless there is a token.
//
// Start reading at Server, then conn.go (a request's way in), ops.go (what there is) and eval.go.
package nrepl
