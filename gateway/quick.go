package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The quick path. Nearly every request is a tools/call that nobody waits on
// with a progress token, so nothing can precede its answer, and the stream,
// session and forwarder that mcp-go's HTTP layer sets up for each POST are not
// needed. Such a request goes to mcp-go's HandleMessage directly, which halves
// its cost. The path takes a request only where it is sure that it is valid in
// its era; everything else, every error included, is left to mcp-go.

// peek is what has to be known of a message to choose.
type peek struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name string `json:"name"`
		Meta struct {
			Progress json.RawMessage `json:"progressToken"`
			Version  string          `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// quick serves the request where the quick path may take it, and reports
// whether it did.
func quick(ctx context.Context, w *writer, r *http.Request, c *call, body []byte) bool {
	if !plainJSON(r) {
		return false
	}
	var p peek
	if json.Unmarshal(body, &p) != nil {
		return false
	}
	isCall := p.Method == string(mcp.MethodToolsCall) && p.Params.Name == toolName &&
		p.Version == mcp.JSONRPC_VERSION && len(p.ID) > 0 && string(p.ID) != "null"
	progress := len(p.Params.Meta.Progress) > 0 && string(p.Params.Meta.Progress) != "null"
	if !isCall || progress || !validEra(r.Header, p) {
		return false
	}
	m := c.spawn.mcp
	response := m.HandleMessage(m.WithContext(ctx, silent{}), body)
	if r.Context().Err() != nil {
		return true // nobody is there to read it
	}
	if response == nil { // it carried a result as well, so it asked for nothing
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	if _, failed := response.(mcp.JSONRPCError); failed && mcp.IsModernProtocol(p.Params.Meta.Version) {
		// All that can fail here is the metadata of a modern request, which
		// that revision answers with 400; older ones answer every error with 200.
		w.WriteHeader(http.StatusBadRequest)
	}
	if err := json.NewEncoder(w).Encode(response); err != nil {
		c.cfg.Log.Debug("gateway: failed to write an answer", "err", err)
	}
	return true
}

// validEra makes the checks that mcp-go's HTTP layer makes for the era of the
// request: an older revision needs at most a known version in the header, the
// stateless one needs header and body to agree on version, method and name.
func validEra(h http.Header, p peek) bool {
	header, meta := h.Get(mcp.HeaderProtocolVersion), p.Params.Meta.Version
	if !mcp.IsModernProtocol(header) && !mcp.IsModernProtocol(meta) {
		return header == "" || mcp.IsValidProtocolVersion(header)
	}
	return header == meta && mcp.IsValidProtocolVersion(meta) && h.Get(mcp.HeaderLastEventID) == "" &&
		h.Get(mcp.HeaderMethod) == p.Method && h.Get(mcp.HeaderName) == p.Params.Name
}

// plainJSON reports whether the content type is JSON in one of the spellings
// clients use; mcp-go parses the rest.
func plainJSON(r *http.Request) bool {
	switch r.Header.Get("Content-Type") {
	case "application/json", "application/json; charset=utf-8", "application/json;charset=utf-8":
		return true
	}
	return false
}

// silent is the session of a request that hears nothing before its answer. Its
// id is empty like that of every request here, so that a notifications/cancelled
// finds it among the requests of its spawn.
type silent struct{}

var _ server.ClientSession = silent{}

func (silent) Initialize()                                         {}
func (silent) Initialized() bool                                   { return true }
func (silent) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (silent) SessionID() string                                   { return "" }
