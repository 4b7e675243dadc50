package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// spawn is what the gateway keeps of one spawn while it holds a token.
type spawn struct {
	caller Caller
	life   context.Context // ends when the spawn is revoked or the server stops
	end    context.CancelCauseFunc
	lane   lane
	mcp    *server.MCPServer
	stream *server.StreamableHTTPServer // mcp behind mcp-go's HTTP layer

	inflight atomic.Int64
	requests atomic.Int64
	evals    atomic.Int64
	lastAt   atomic.Int64 // Unix nanoseconds; 0: never
}

func (s *Server) newSpawn(c Caller) *spawn {
	life, end := context.WithCancelCause(context.Background())
	sp := &spawn{caller: c, life: life, end: end}
	sp.mcp, sp.stream = s.newMCP()
	return sp
}

// seen counts one authenticated request.
func (sp *spawn) seen(now time.Time) {
	sp.requests.Add(1)
	sp.lastAt.Store(now.UnixNano())
}

func (sp *spawn) activity() Activity {
	a := Activity{Known: true, Requests: sp.requests.Load(), Evals: sp.evals.Load()}
	a.Connected = a.Requests > 0
	if at := sp.lastAt.Load(); at != 0 {
		a.LastAt = time.Unix(0, at)
	}
	return a
}
