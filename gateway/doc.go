// Package gateway is the door an agent reaches back through: HTTP, one MCP
// endpoint a role, one tool.
//
// An agent is a CLI driven by a model. It is given a URL, /mcp/<role>, and a
// token that belongs to its spawn, and through them it may do exactly one
// thing: hand in Lisp code and get text back. What that code can reach is not
// decided here. The gateway asks a [Host] at every request what the caller may
// use, so a grant redefined a moment ago is what the next call sees, and asks
// it to evaluate. The gateway's own work is to let nobody else in, to keep
// what comes in and what goes out finite, and to answer so that a model can
// act on the answer.
//
// # The one invariant
//
// Nothing reaches the Host that did not carry a live token for the role in the
// path. Every request passes these checks in this order, and the first that
// fails answers:
//
//  1. Host: a loopback name, the address the request arrived at, or one of
//     Config.AllowedHosts; else 403. A page that rebinds its own name to
//     127.0.0.1 stops here.
//  2. Origin: absent, loopback, or one of Config.AllowedOrigins; else 403.
//  3. Token: Authorization: Bearer. Missing, wrong, expired, revoked, another
//     role's, or a role that no longer exists: the same 404, the same body,
//     as for a path that does not exist. A token in the URL is not read.
//  4. Method: POST; else 405 with an Allow header. There are no sessions and
//     no standing streams to open or to delete.
//  5. In-flight requests of the spawn: at most Config.MaxInFlight; else 429.
//  6. Body: no Content-Encoding (415), at most Config.MaxBody bytes (413),
//     read within Config.ReadTimeout. A longer body is refused by its declared
//     length, or at the byte that is one too many; it is never buffered.
//
// # Tokens
//
// [Server.Issue] makes 256 random bits, gives them out once and keeps their
// SHA-256 with the role, the spawn and the expiry. A presented token is hashed
// and looked up by its hash, so the time a lookup takes depends on the hash and
// says nothing about the secret; hash and role are then compared in constant
// time. Tokens appear in no log line, error or URL. [Server.Revoke] forgets a
// spawn and ends what it has running and waiting. [Server.Observe] says what a
// spawn did here, which is how a spawn is judged: exit codes of CLIs lie.
//
// # Evaluation
//
// Evals of one spawn run one at a time in order of arrival; spawns do not wait
// for each other. At most Config.Queue evals of a spawn wait; one more is
// answered with a "busy" error at once. An eval that waited, for its turn or
// for its body, is run under what is granted when it begins. The eval timeout
// counts from arrival, waiting included. When it passes, or the client hangs
// up, or the spawn is revoked, the context of the eval ends. A Host that has
// still not returned Config.Grace later no longer holds the answer up: the
// caller gets a timeout error, and the spawn's lane stays taken until the Host
// does return, because two evals must never run in one isolate.
//
// While an eval waits or runs, and its request carried a progress token, a
// notifications/progress goes out every Config.KeepAlive: clients cut silent
// calls off after 30 to 300 seconds. It is a keepalive and nothing else; the
// last one before an answer may be lost.
//
// # MCP
//
// Both eras are served from the one endpoint, chosen per request: the revisions
// that begin with initialize (2024-11-05 to 2025-11-25) and the stateless one
// (2026-07-28). No call needs a session. mcp-go speaks the protocol; each spawn
// has an MCP server of its own, so that a notifications/cancelled reaches only
// requests of the same spawn.
//
// Start reading at endpoint.go, which is the path of one request.
package gateway
