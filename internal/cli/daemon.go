package cli

import (
	"fmt"
	"net"
	"strconv"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
)

// portVar sets the port for editors; without it it is any free one.
const portVar = "ZENO_NREPL_PORT"

// editors says where editors may connect.
func (a *app) editors() (*core.Editors, error) {
	port := a.std.Getenv(portVar)
	if port == "" {
		return &core.Editors{}, nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, usage(fmt.Errorf("$%s: got %q, want a port from 1 to 65535", portVar, port))
	}
	return &core.Editors{Addr: net.JoinHostPort("127.0.0.1", port)}, nil
}

// daemon serves the home without a terminal until a signal ends it.
func (a *app) daemon() error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	if !h.Exists() {
		return usage(fmt.Errorf("home: %s does not exist; `zeno init %s` makes one", h.Dir, h.Dir))
	}
	release, err := h.Lock()
	if err != nil {
		return err
	}
	defer release()
	editors, err := a.editors()
	if err != nil {
		return err
	}
	c, err := a.start(engine{home: h, editors: editors})
	if err != nil {
		return err
	}
	defer a.close(c)
	_ = c.Boot(a.signals.ctx) // it has reported what went wrong; editors may mend it
	fmt.Fprintf(a.std.Err, "zeno %s serves %s. %s\n", version(), h.Dir, c.EditorsBanner())
	<-a.signals.ctx.Done()
	return nil
}
