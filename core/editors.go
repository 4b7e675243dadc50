package core

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/reflection-dev/zeno/nrepl"
)

// PortFile is where editors find the port, in the home.
const PortFile = ".nrepl-port"

// Editors says how editors reach the instance.
type Editors struct {
	Addr  string // host:port; "": a free port of the loopback interface
	Unix  string // path of a Unix socket instead
	Token string // what a bind that is not loopback needs
}

// startEditors opens the nREPL server: before the home loads, so that a program that hangs or throws can be mended.
func (c *Core) startEditors(ctx context.Context) error {
	e := c.conf.Editors
	if e == nil {
		return nil
	}
	conf := nrepl.Config{Env: c.env, Addr: e.Addr, Unix: e.Unix, Token: e.Token, Version: c.conf.Version, Log: c.conf.Log}
	if h := c.conf.Home; h != nil && h.Exists() {
		conf.PortFile = filepath.Join(h.Dir, PortFile)
		conf.OnPortFile = func(err error) {
			if err == nil {
				c.warn("editors: the port file is written")
				return
			}
			c.warn(fmt.Sprintf("editors: %v; until that is mended they, and zeno connect, do not find the server", err))
		}
		conf.Paths = h.Roots
	}
	s, err := nrepl.New(conf)
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return fmt.Errorf("editors: %w", err)
	}
	c.editors.Store(s)
	return nil
}

// EditorsBanner says where editors connect, or "".
func (c *Core) EditorsBanner() string {
	if s := c.editors.Load(); s != nil {
		return s.Banner()
	}
	return ""
}

func (c *Core) stopEditors(ctx context.Context) error {
	if s := c.editors.Load(); s != nil {
		return s.Stop(ctx)
	}
	return nil
}
