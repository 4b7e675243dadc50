package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// A subscription is acknowledged before it is answered, every time: there is nothing to subscribe to here, so the answer
// follows at once, and mcp-go alone loses the acknowledgement now and then.
func TestSubscriptionsAreAcknowledged(t *testing.T) {
	s := start(t, Config{})
	token, c := issue(t, s, "reader", "listens"), client(t)
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
	for i := range 500 {
		got := send(t, c, ask{url: s.URL("reader"), token: token, header: header, body: fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, i)})
		ack, result := strings.Index(got.body, "notifications/subscriptions/acknowledged"), strings.Index(got.body, `"result"`)
		if got.status != 200 || ack < 0 || result < ack {
			t.Fatalf("subscription %d: got %d %s, want an acknowledgement and then the result", i, got.status, got.body)
		}
	}
}
