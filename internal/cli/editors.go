package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/reflection-dev/zeno/core"
)

// How editors connect, where the defaults (any free port of the loopback interface, no token) will not do.
const (
	portVar   = "ZENO_NREPL_PORT"
	hostVar   = "ZENO_NREPL_HOST"   // one that is not loopback needs a token
	socketVar = "ZENO_NREPL_SOCKET" // the path of a Unix socket, instead of a port
	tokenVar  = "ZENO_NREPL_TOKEN"  // what clients must show
)

// editors says where editors may connect.
func (a *app) editors() (*core.Editors, error) {
	e := &core.Editors{Unix: a.std.Getenv(socketVar), Token: a.std.Getenv(tokenVar)}
	port, host := a.std.Getenv(portVar), a.std.Getenv(hostVar)
	switch {
	case e.Unix != "" && (port != "" || host != ""):
		return nil, usage(errors.New("editors: got both $" + socketVar + " and $" + portVar + " or $" + hostVar + ", want one way to connect"))
	case port == "" && host == "":
		return e, nil
	case port == "":
		port = "0"
	default:
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, usage(fmt.Errorf("$%s: got %q, want a port from 1 to 65535", portVar, port))
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	e.Addr = net.JoinHostPort(host, port)
	return e, nil
}
