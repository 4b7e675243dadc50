package egress

import "time"

// Kind says what an Event is about.
type Kind string

// The kinds of events.
const (
	// KindDNS is a name that the stub refused.
	KindDNS Kind = "dns"
	// KindConnection is a connection that was refused or that broke before a request.
	KindConnection Kind = "connection"
	// KindRequest is a request, forwarded or refused, at its end.
	KindRequest Kind = "request"
	// KindSecret is a placeholder that went where its secret is not bound to, and so went as it was.
	KindSecret Kind = "secret"
	// KindPolicy is a change of the policy.
	KindPolicy Kind = "policy"
	// KindUsage is what a model's answer says it used.
	KindUsage Kind = "usage"
	// KindDropped counts events that came faster than MaxEvents.
	KindDropped Kind = "dropped"
)

// Event is one decision or the end of one exchange. No field holds the value of a secret.
type Event struct {
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Host is the name, or the address where there is no name.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Method and Path are of the request; Path has no query, and is empty where the policy hides paths.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Status is what the box was answered, 0 where the connection was reset.
	Status int `json:"status,omitempty"`
	// Sent and Received count the bytes of bodies, as the box sent and received them.
	Sent     int64         `json:"sent,omitempty"`
	Received int64         `json:"received,omitempty"`
	Took     time.Duration `json:"took,omitempty"`
	// Secrets names the secrets that were put in; with KindSecret, those that were not.
	Secrets []string `json:"secrets,omitempty"`
	// Refused says why, and is empty where nothing was.
	Refused string `json:"refused,omitempty"`
	// Error says what broke.
	Error string `json:"error,omitempty"`
	// Usage is there with KindUsage.
	Usage *Usage `json:"usage,omitempty"`
	// Dropped counts with KindDropped.
	Dropped int64 `json:"dropped,omitempty"`
}
